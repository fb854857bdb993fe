import { ErrorCode, KafkaError } from '../protocol/error-codes.ts'

/**
 * Bounds how many objects of one kind clients can create. What is under way counts too, since the metadata shows a new
 * object only after it is stored.
 */
export class CreationLimit {
  readonly #max: number
  readonly #what: string
  #underWay = 0

  /** `what` is limited, for the message: `groups that have configs of their own`. */
  constructor(max: number, what: string) {
    this.#max = max
    this.#what = what
  }

  /** Takes a place beside the `known` ones; it is given back by what this returns. Throws `KafkaError` (POLICY_VIOLATION). */
  take(known: number): () => void {
    if (known + this.#underWay >= this.#max) {
      throw new KafkaError(ErrorCode.POLICY_VIOLATION, `There can be at most ${this.#max} ${this.#what}.`)
    }
    this.#underWay++
    return () => {
      this.#underWay--
    }
  }
}
