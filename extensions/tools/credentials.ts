/** An address as it may be asked: `fetch` refuses one with a name and password in it. */
export interface BareAddress {
  readonly url: URL;
  /** Carry the name and password, where there were any. */
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

/** Takes `user:password@` out of an address, for the header that means the same (RFC 7617). */
export function withoutCredentials(address: string): BareAddress {
  const url = new URL(address);
  const [name, password] = [decoded(url.username), decoded(url.password)];
  url.username = "";
  url.password = "";
  if (name === "" && password === "") return { url, headers: {}, secrets: [] };
  const basic = Buffer.from(`${name}:${password}`).toString("base64");
  return { url, headers: { authorization: `Basic ${basic}` }, secrets: [password, basic].filter((secret) => secret !== "") };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
