import { type Random, randomStream, seedOf } from "../../src/core/random.ts";
import type { Split, Task } from "../../src/environments/environment.ts";
import { type Corpus, corpusOf } from "./corpus.ts";
import { fullQuery, type Plan, type Scene } from "./expert.ts";
import { canBeHeldOut, type Draft, drawKind, drawQuestion, type KindName } from "./kinds.ts";
import type { KnowledgeSettings } from "./settings.ts";
import { disputed, drawValue, drawWorld, type Fact, nameOf, type World } from "./world.ts";

export interface KnowledgeTask extends Task {
  readonly kind: KindName;
  readonly question: string;
  /** Answers that are right: a name with and without the role. */
  readonly golds: readonly string[];
  readonly corpus: Corpus;
  /** The facts that the answer needs, in the order in which they are looked up. */
  readonly needs: readonly Fact[];
  /** How an expert with these choices solves it. */
  solve(scene: Scene): Plan;
}

/** The kinds that can be asked in the challenge split. */
export function challengeKinds(kinds: readonly KindName[]): readonly KindName[] {
  return kinds.filter(canBeHeldOut);
}

/** The task of a split and index, one that can be answered: a full query shows what is needed. The splits draw from streams of their own. */
export function drawTask(settings: KnowledgeSettings, split: Split, index: number): KnowledgeTask {
  const random = randomStream(0, "knowledge", split, index);
  const unseen = split === "challenge";
  const kind = drawKind(random, unseen ? challengeKinds(settings.kinds) : settings.kinds);
  for (;;) {
    const world = drawWorld(random, settings.size, settings.ambiguity);
    const draft = attempt(20, () => drawQuestion(kind, world, random, unseen));
    if (draft === undefined) continue;
    const { text, needs, answer } = draft;
    if (!belongs(text, split)) continue;
    const corpus = corpusOf(random, drawFacts(random, world, draft, settings), settings.disputes > 0);
    const isShown = (fact: Fact) =>
      corpus.index.search(fullQuery(fact), settings.pages).some((page) => corpus.facts.get(page.snippet) === fact);
    if (!needs.every(isShown)) continue;
    const golds = [...new Set([nameOf(answer), typeof answer === "number" ? nameOf(answer) : answer.name])];
    return { id: `${split}/${index}`, kind, question: text, golds, corpus, needs, solve: draft.solve };
  }
}

/** Half of all questions are for training, a quarter each for validation and test. Those of the challenge split are no other split's anyway. */
function belongs(question: string, split: Split): boolean {
  const quarter = seedOf(0, "knowledge", "question", question) & 3;
  if (split === "train") return quarter < 2;
  return split === "challenge" || quarter === (split === "validation" ? 2 : 3);
}

function attempt<T>(times: number, draw: () => T | undefined): T | undefined {
  for (let tried = 0; tried < times; tried++) {
    const drawn = draw();
    if (drawn !== undefined) return drawn;
  }
  return undefined;
}

/** Draws the facts of the corpus: those that the question needs, those that can be mistaken for them, and others of the world. */
function drawFacts(
  random: Random,
  world: World,
  { needs }: Draft,
  { ambiguity, disputes, documents }: KnowledgeSettings,
): Fact[] {
  const namesakes = needs.flatMap(({ relation, subject }) =>
    world.facts.filter((fact) => fact.relation === relation && fact.subject !== subject && fact.subject.name === subject.name),
  );
  const others = random.shuffle(world.facts.filter((fact) => !needs.includes(fact) && !namesakes.includes(fact)));
  const former = (facts: readonly Fact[], share: number): Fact[] =>
    facts.flatMap((fact) => {
      if (!random.chance(share)) return [];
      return { ...fact, value: drawValue(random, world.entities, fact.relation, fact.value), former: true };
    });
  const related = [...new Set([...needs, ...namesakes])];
  const misleading = [
    ...former(needs, ambiguity),
    ...needs.filter(() => random.chance(disputes)).map((fact) => disputed(random, world, fact)),
  ];
  const rest = others.slice(0, Math.max(0, documents - related.length - misleading.length));
  return [...related, ...misleading, ...rest, ...former(rest, ambiguity / 4)];
}
