import { environment } from './environment.ts';
import { isExporting } from './exporting.ts';

if (isExporting(environment)) await import('./start-sdk.ts');
