import type { MessageView, TrajectoryView, TurnView } from "../api.ts";
import { number, percent, signed } from "../format.ts";
import { visible } from "../visible-text.ts";
import { type Mode, type TokenPlace, Tokens } from "./tokens.tsx";

interface ConversationProps {
  readonly of: TrajectoryView;
  readonly mode: Mode;
  readonly scale: number;
  readonly selected?: TokenPlace;
  /** The first token in which this differs from another. */
  readonly differs?: TokenPlace;
}

/** An episode as a chat: what the model wrote as coloured tokens, calls with their results between. */
export function Conversation({ of: { messages, turns }, mode, scale, selected, differs }: ConversationProps) {
  const written = messages.some(({ turn }) => turn !== undefined);
  const draw = (turn: TurnView) => (
    <TurnBlock key={`t${turn.turn}`} turn={turn} mode={mode} scale={scale} selected={selected} differs={differs} />
  );
  // Where one message grows over several turns, the tokens themselves are the conversation.
  if (!written)
    return (
      <ol class="chat">
        {turns.map((turn) => (
          <>
            {turn.context !== "" && (
              <li class="message context" key={`c${turn.turn}`}>
                <span class="role">context</span>
                <div class="said-text mono">{visible(turn.context)}</div>
              </li>
            )}
            {draw(turn)}
          </>
        ))}
      </ol>
    );
  return (
    <ol class="chat">
      {messages.map((message, i) => {
        const turn = message.turn === undefined ? undefined : turns[message.turn];
        return turn === undefined ? <Message key={i} message={message} /> : draw(turn);
      })}
    </ol>
  );
}

function Message({ message: { role, name, content, reasoning, calls = [] } }: { readonly message: MessageView }) {
  return (
    <li class={`message ${role}`}>
      <span class="role">{role === "tool" ? (name ?? "tool") : role}</span>
      <div class="said-text">
        {reasoning !== undefined && <p class="muted">{visible(reasoning)}</p>}
        {content !== "" && <span class={role === "tool" ? "mono" : ""}>{visible(content)}</span>}
        {calls.map((call) => (
          <code class="call" key={call.name + call.arguments}>
            {call.name}({visible(call.arguments)})
          </code>
        ))}
      </div>
    </li>
  );
}

type TurnBlockProps = Omit<ConversationProps, "of"> & { readonly turn: TurnView };

function TurnBlock({ turn, mode, scale, selected, differs }: TurnBlockProps) {
  const update = turn.updates.at(-1);
  return (
    <li class="message assistant" id={`turn-${turn.turn}`}>
      <span class="role">
        turn {turn.turn + 1}
        {turn.role !== undefined && ` · ${turn.role}`}
      </span>
      <div class="said-text mono">
        <Tokens
          turn={turn}
          mode={mode}
          scale={scale}
          selected={selected?.turn === turn.turn ? selected.token : undefined}
          differsAt={differs?.turn === turn.turn ? differs.token : undefined}
        />
        <p class="turn-notes">
          {update?.advantage !== null && update?.advantage !== undefined && <span>Â {signed(update.advantage)}</span>}
          {update?.factor !== null && update?.factor !== undefined && <span>M {number(update.factor, 5)}</span>}
          <span>{turn.texts.length} tokens</span>
          {turn.toolCalls > 0 && <span>{turn.toolCalls === 1 ? "a call" : `${turn.toolCalls} calls`}</span>}
          {turn.invalidToolCalls > 0 && <span class="loss">{turn.invalidToolCalls} invalid</span>}
          {turn.truncated && <span class="loss">cut off</span>}
          {turn.rewritten && <span class="loss">history rewritten</span>}
          {turn.rise !== undefined && <span>ΔH {signed(turn.rise)}</span>}
          {(turn.forks ?? 0) > 0 && <span>{turn.forks} forks here</span>}
        </p>
      </div>
    </li>
  );
}

/** Probability of a log-prob. */
export function probability(logprob: number | null | undefined): string {
  return logprob === null || logprob === undefined ? "–" : percent(Math.exp(logprob));
}
