import express from 'express';

/**
 * A bare Express server that answers with a payload it was given: what the same bytes cost without us.
 * `PUT /payload` sets it; any other request gets it, a POST after its JSON body was parsed.
 */
const app = express();
app.disable('x-powered-by');
let payload: unknown = {};
app.use(express.json({ limit: '10mb' }));
app.put('/payload', (req, res) => {
  payload = req.body;
  res.status(204).end();
});
app.use((req, res) => {
  res.status(req.method === 'POST' ? 201 : 200).json(payload);
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.on('disconnect', () => server.close());
