export interface User {
  id: number;
  name: string;
  isAdmin: boolean;
}

/** What a query asks for, to have one. */
export const USER_FIELDS = { id: true, name: true, isAdmin: true } as const;
