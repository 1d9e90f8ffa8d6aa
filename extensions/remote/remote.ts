import type { CreateRemoteEnvironment } from "../../src/environments/registry.ts";
import { nemoGymEnvironment } from "./nemo-gym/nemo-gym.ts";
import { openenvEnvironment } from "./openenv/openenv.ts";
import { orsEnvironment } from "./ors/ors.ts";
import { parseRemoteName, type Wire } from "./shared/address.ts";
import { verifiersEnvironment } from "./verifiers/verifiers.ts";

const byWire = {
  openenv: openenvEnvironment,
  ors: orsEnvironment,
  verifiers: verifiersEnvironment,
  "nemo-gym": nemoGymEnvironment,
} satisfies Record<Wire, unknown>;

/** Environments on other servers, by their wire: their names are `WIRE:ADDRESS`. */
export const remoteEnvironments: Readonly<Record<string, CreateRemoteEnvironment>> = Object.fromEntries(
  Object.entries(byWire).map(([wire, connect]) => [
    wire,
    (name: string, settings: unknown) =>
      (connect as (name: string, url: string, settings: unknown) => ReturnType<CreateRemoteEnvironment>)(
        name,
        parseRemoteName(name),
        settings,
      ),
  ]),
);
