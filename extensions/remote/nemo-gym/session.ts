import type { z } from "zod";
import type { HttpAnswer, HttpClient } from "../shared/http.ts";
import type { RemoteEnvError } from "../shared/problem.ts";

/** Requests of one episode: the server knows it by cookies. */
export class NemoGymSession {
  readonly #http: HttpClient;
  readonly #cookies = new Map<string, string>();

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async post(path: string, body: object | string, signal?: AbortSignal): Promise<HttpAnswer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers: Record<string, string> = cookie === "" ? {} : { cookie };
    const answer = await this.#http.ask({ method: "POST", path, body, headers, signal });
    for (const line of answer.setCookies) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (at > 0) this.#cookies.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
    }
    return answer;
  }

  /** The answer to a request, in the form that it has to have. @throws RemoteEnvError for another one, and for a status but 200 */
  read<T>(schema: z.ZodType<T>, path: string, answer: HttpAnswer): T {
    if (answer.status !== 200) throw this.refusal(path, answer);
    return this.#http.read(schema, answer.text, path);
  }

  refusal(path: string, answer: HttpAnswer): RemoteEnvError {
    return this.#http.refusal(`POST ${path}`, answer);
  }
}
