import pg from 'pg';

/** One statement with its parameters; without a name it is parsed each time. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface Answer {
  readonly rows: object[];
  /** How many rows it gave or changed. */
  readonly rowCount: number;
  /** The word that Postgres has for what it did, such as `COMMIT`. */
  readonly command: string;
}

/** A connection as the driver hands it to what it submits; the driver's types know the half of it. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  /** Text by name, kept by the driver for whatever is sent on this connection. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly unknown[] }): void;
  describe(message: { type: 'P' }): void;
  execute(message: object): void;
  sync(): void;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

const INT8 = 20;
/** Rows that a command gave or changed end its tag, as in `INSERT 0 3`. */
const COUNT = / (\d+)$/;

// NOTE: the driver exports it without a type.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;

/** The columns of each named statement that a connection has described once. */
const described = new WeakMap<Wire, Map<string, readonly Column[]>>();

/**
 * Sends statements in one message and resolves when Postgres has answered all of them; after one that fails none is
 * carried out. Named ones are parsed and described once for each connection. 64 bits are a BigInt, as a Prisma client
 * gives them.
 */
export function sendBatch(connection: pg.ClientBase, statements: readonly Statement[]): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    connection.query(new StatementBatch(statements, resolve, reject));
  });
}

/** What the driver tells of the answer, in the order of the statements. */
class StatementBatch implements pg.Submittable {
  readonly #statements: readonly Statement[];
  readonly #resolve: (answers: Answer[]) => void;
  readonly #reject: (error: unknown) => void;
  readonly #answers: Answer[] = [];
  #known = new Map<string, readonly Column[]>();
  #columns: readonly Column[] | undefined;
  #rows: object[] = [];

  constructor(
    statements: readonly Statement[],
    resolve: (answers: Answer[]) => void,
    reject: (error: unknown) => void,
  ) {
    // Before anything is sent: a value that cannot be sent throws.
    this.#statements = statements.map((one) => ({ ...one, values: one.values.map(prepareValue) }));
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The driver notes what it hears to be parsed under the name and text of what it has submitted. */
  get name(): string | undefined {
    return this.#statements[this.#answers.length]?.name;
  }

  get text(): string | undefined {
    return this.#statements[this.#answers.length]?.text;
  }

  /** For whoever watches what is sent. */
  get texts(): readonly string[] {
    return this.#statements.map(({ text }) => text);
  }

  submit(connection: object): void {
    const wire = connection as Wire;
    this.#known = described.get(wire) ?? this.#known;
    described.set(wire, this.#known);
    const parsed = new Set<string>();
    wire.stream.cork();
    for (const { name, text, values } of this.#statements) {
      const isParsed = name !== '' && (parsed.has(name) || wire.parsedStatements[name] !== undefined);
      if (!isParsed) wire.parse({ name, text });
      parsed.add(name);
      wire.bind({ statement: name, values });
      if (!this.#known.has(name)) wire.describe({ type: 'P' });
      wire.execute({});
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {};
    let at = 0;
    for (const { name, parse } of this.#currentColumns()) {
      const text = fields[at] ?? null;
      row[name] = text === null ? null : parse(text);
      at += 1;
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { name } = this;
    if (name) this.#known.set(name, this.#currentColumns());
    const [command = ''] = text.split(' ', 1);
    this.#answers.push({ rows: this.#rows, rowCount: Number(COUNT.exec(text)?.[1] ?? 0), command });
    this.#rows = [];
    this.#columns = undefined;
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#answers);
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  /** None was described: the statement gives no rows. */
  #currentColumns(): readonly Column[] {
    return this.#columns ?? this.#known.get(this.name ?? '') ?? [];
  }
}

function parserOf(dataTypeID: number): Column['parse'] {
  return dataTypeID === INT8 ? BigInt : pg.types.getTypeParser(dataTypeID, 'text');
}
