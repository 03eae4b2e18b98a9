const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(name: string): boolean {
  return UUID.test(name);
}

/** The name itself. @throws Error when it is no UUID, so that no name leads out of where objects are */
export function uuid(name: string): string {
  if (!isUuid(name)) throw new Error('an object is named by a UUID');
  return name;
}
