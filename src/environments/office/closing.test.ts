import { expect, test } from "vitest";
import { saysTheSame } from "./closing.ts";

const names = ["Ana Kim", "Dana Kim", "Bob Fox"];

test.each([
  ["Paid Ana Kim 45.", "Paid Ana Kim 45.", "Pay Ana 45.", true],
  ["Paid Ana Kim 45.", "I have paid 45 to Ana Kim", "Pay Ana 45.", true],
  ["Paid Ana Kim 45.", "Done.", "Pay Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana 45.", "Pay Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 54.", "Pay Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim and Bob Fox 45.", "Pay Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 45. Sorry, I cannot.", "Pay Ana 45.", false],
  ["Paid Ana Kim 45.", "Paid Ana Kim 45. Anything else?", "Pay Ana 45.", false],
  ["Paid Dana Kim 45.", "Paid Dana Kim 45.", "Pay Dana 45.", true],
  ["Sorry, I cannot find Zed.", "There is nobody: I could not find Zed.", "Pay Zed 45.", true],
  ["Sorry, I cannot find Zed.", "Sorry, I cannot.", "Pay Zed 45.", false],
  ["Sorry, I cannot find Zed.", "Paid Zed 45.", "Pay Zed 45.", false],
  ["Sorry, send_message is closed.", "Sorry, send_message is closed.", "Tell Ana: Soon.", true],
  ["Sorry, send_message is closed.", "Sorry, pay is closed.", "Tell Ana: Soon.", false],
  ["Review is on Monday at 14:30.", "On Monday at 14:30 there is Review.", "When is Review?", true],
  ["Review is on Monday at 14:30.", "Review is on Monday at 14:30 or 15:00.", "When is Review?", false],
  ["Review is on Monday at 14:30.", "Review is at 14:30.", "When is Review?", false],
  ["Review is on Monday at 16:00.", "Move Review to 16:00.", "Move Review to 16:00.", false],
  ["Report is in Private.", "Report is in Private.", "Put Report away.", true],
  ["Report is in Private.", "Report is in Drafts.", "Put Report away.", false],
  ["The bill Report is gone.", "Report, that bill, was deleted.", "Delete Report.", true],
  ["The bill Report is gone.", "Delete Report.", "Delete Report.", false],
])("where the expert says %j, %j in answer to %j is %s", (closing, words, _text, expected) => {
  expect(saysTheSame(words, { closing, text: _text }, names)).toBe(expected);
});
