export { until } from '@kr/local-stack/backends';
