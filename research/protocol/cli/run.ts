import { existsSync } from "node:fs";
import { measure } from "../../../src/cli/measure.ts";
import { type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { whileOpen } from "../../../src/environments/lifetime.ts";
import { createEnvironment, environmentActs } from "../../../src/environments/registry.ts";
import { writeFileAtomic } from "../../../src/files/atomic.ts";
import { codeDigests } from "../../../src/files/code-digests.ts";
import { layout } from "../../../src/runs/layout.ts";
import { packageVersion } from "../../../src/runs/write.ts";
import { requireTrusted } from "../../../src/sdk/trust.ts";
import { interruptedExitCode } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { filesOf, loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { decodingsOf, episodesOf } from "../../../src/training/evaluation/folder.ts";
import { attemptsFrom, requireTasks, textEnvironment } from "../play.ts";
import { canonical, decodings, type Protocol, ProtocolError, readProtocol } from "../protocol.ts";
import { type Header, readResults } from "../results.ts";
import { playerFlags } from "./flags.ts";

interface RunFlags extends SettingValues {
  readonly out: string;
  readonly resume?: boolean;
}

/** Plays a protocol and writes its results. @returns the exit code @throws ConfigError, ProtocolError, ModelError, EngineError, EnvError */
export async function runCommand(file: string, flags: RunFlags, screen: Screen): Promise<number> {
  const protocol = readProtocol(file);
  const { split, tasks, scorer, sampling } = protocol;
  const { out: _, ...asked } = flags;
  const given = settingsOf(playerFlags, asked);
  const user = await loadConfigFile(flags.config);
  const environment = await environmentOf(protocol, file, user);
  const { greedy, attempts, temperature, topP, maxTokens, maxTurns, seed } = sampling;
  const played: UserConfig = {
    ...user,
    environment,
    seed,
    rollout: { ...user.rollout, topP, topK: 0, maxTokens, maxTurns },
    evaluation: { split, tasks: tasks.length, k: Math.max(1, attempts), temperature: attempts === 0 ? 0 : temperature, greedy },
    out: flags.out.replace(/\.jsonl$/, "").concat(".episodes"),
  };
  const config = resolveConfig(played, { ...given, ...(given.model === undefined ? {} : { model: weightsOf(given.model) }) });
  const measured = await measure(config, played, flags.resume === true, screen);
  if (measured === undefined) return interruptedExitCode;
  const header: Header = {
    ...{ protocol: protocol.sha256, scorer: scorer.sha256, sampling },
    model: measured.report.asked.model,
    program: `retrograde-rl ${packageVersion()}`,
  };
  const lines = decodings
    .filter((each) => decodingsOf(measured.folder).includes(each))
    .flatMap((decoding) => attemptsFrom(episodesOf(measured.folder, decoding), decoding, protocol));
  writeFileAtomic(flags.out, [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  readResults(flags.out, protocol);
  screen.line(`${flags.out}: ${lines.length} attempts`);
  return 0;
}

/** A run's weights are played in the protocol's world, not in its own. */
const weightsOf = (model: string) => (existsSync(layout.run(model)) ? layout.model(model) : model);

/** @throws ProtocolError where it is another than the protocol's; UntrustedError where it would act */
async function environmentOf(protocol: Protocol, file: string, user: UserConfig): Promise<Environment> {
  const { scorer } = protocol;
  if (scorer.kind === "equal") return textEnvironment(protocol) as unknown as Environment;
  requireTrusted(file, () => false, [environmentActs(scorer.name, scorer.settings)]);
  const own = user.environment;
  const create = (): Environment =>
    typeof own === "object" && "start" in own && own.name === scorer.name ? own : createEnvironment(scorer.name, scorer.settings);
  const environment = create();
  const code = codeDigests(filesOf(environment));
  if (canonical(code) !== canonical(scorer.code))
    throw new ProtocolError("other-scorer", `code of "${scorer.name}"`, code, {
      expected: canonical(scorer.code),
      hint: "It was changed.",
    });
  await whileOpen(environment, { timeoutMs: 600_000 }, (opened) => requireTasks(opened, protocol));
  return create();
}
