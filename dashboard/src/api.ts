import { useEffect, useState } from "preact/hooks";

export type * from "../../extensions/dashboard/server/api.ts";

/** Asks the server. @throws Error with the server's words where it refuses */
export async function ask<T>(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> {
  return answer<T>(await fetch(address(path, query)));
}

/** Sends JSON, as writes and long questions are. */
export async function send<T>(path: string, query: Readonly<Record<string, string>>, body: unknown): Promise<T> {
  const headers = { "content-type": "application/json", "x-retrograde": "1" };
  return answer<T>(await fetch(address(path, query), { method: "POST", headers, body: JSON.stringify(body) }));
}

export function address(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text === "" ? path : `${path}?${text}`;
}

async function answer<T>(response: Response): Promise<T> {
  const content = (await response.json()) as T & { readonly error?: string };
  if (!response.ok) throw new Error(content.error ?? `The server answered ${response.status}.`);
  return content;
}

export interface Asked<T> {
  readonly value?: T;
  readonly error?: string;
}

/** Asks whenever `key` changes, and shows the answer before until the new one is there. Undefined asks nothing. */
export function useAsked<T>(key: string | undefined, load: () => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  useEffect(() => {
    let current = true;
    if (key === undefined) return;
    load().then(
      (value) => current && setAsked({ value }),
      (error: unknown) => current && setAsked({ error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      current = false;
    };
  }, [key]);
  return asked;
}
