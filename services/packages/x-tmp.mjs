import './src/service.ts'; setTimeout(()=>{globalThis.gc?.();},2000); setInterval(()=>{},1e6)
