/** A process that listens for Ctrl-C as commands do, in native computations without an end, as the passes of a large model are. */

import { measurePeak } from "../extensions/local/peak.ts";
import { listenForInterrupt } from "../src/terminal/interrupt.ts";

listenForInterrupt(() => console.log("interrupted"));
console.log("computing");
const end = performance.now() + 60_000;
while (performance.now() < end) await measurePeak({ threads: 1 });
