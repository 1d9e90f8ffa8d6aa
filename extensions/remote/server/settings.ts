import type { Environment } from "../../../src/environments/environment.ts";

import type { Access } from "../../http/access.ts";
import type { HttpLimits } from "../../http/server.ts";
import type { HostLimits } from "./hosted.ts";

/** Settings of a server of one environment. */
export interface EnvironmentServerOptions extends Access, HostLimits, Partial<HttpLimits> {
  readonly environment: Environment;
  /** 0 takes any free one. */
  readonly port: number;
  readonly sessions: number;
  /** Time after which a silent session is closed, in milliseconds. */
  readonly sessionMs: number;
  /** Decides the draws of episodes whose client gives no seed. */
  readonly seed: number;
}

export interface RunningEnvironmentServer {
  readonly baseUrl: string;
  sessions(): number;
  close(): Promise<void>;
}
