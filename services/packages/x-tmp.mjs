import './src/service.ts'; setTimeout(()=>globalThis.gc?.(),1500); setInterval(()=>{},1e6)
