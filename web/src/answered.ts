// The head of pages whose answer is a record of its own.

import { answerSection, type Times } from "./answer";
import { kind, type AnyRecord, type SuggestedCommand } from "./records";

/** The answer of a page: `broadleaf.answer/1`. */
export interface AnswerRecord extends AnyRecord {
  about: string;
  sentence: string;
  commands: SuggestedCommand[];
}

/** The head of a page. `records` are all records of the page. */
export function answered(
  records: AnyRecord[],
  title: string,
  times: Times = {},
): HTMLElement {
  const found = records.find((record) => kind(record) === "answer") as AnswerRecord | undefined;
  return answerSection({
    about: found?.about ?? "",
    sentences: found?.sentence ?? `${title}.`,
    commands: found?.commands ?? [],
    ...times,
  });
}
