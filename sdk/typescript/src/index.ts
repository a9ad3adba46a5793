// What the package offers.

export type { Approval, ApprovalEvent, Approvals, Decision } from "./approvals.js";
export { type Client, type ConnectOptions, connect, type Registration, type ServerInfo } from "./client.js";
export { HookEngine, type HookHandler } from "./engine/engine.js";
export {
  Hook,
  type HookConfig,
  HookEventType,
  type HookFields,
  HookMatcher,
  type MatcherFields,
} from "./engine/hook.js";
export type { EngineConnection, EngineOptions } from "./engine/in_force.js";
export type { HookResult, HookTrace } from "./engine/local/dispatch.js";
export type {
  FiredEvent,
  GenerateEndPayload,
  GenerateStartPayload,
  HookEvent,
  Payloads,
  PostToolUsePayload,
  PreToolUsePayload,
  SessionEndPayload,
  SessionStartPayload,
  ToolCallInfo,
} from "./engine/payload.js";
export { type HookAction, HookResponse } from "./engine/response.js";
export { type ErrorCode, VertebraError } from "./errors.js";
export type { Fired, Judgement, Trial } from "./fire.js";
export type { GuardHandler, HookHandler as PointHandler, OwnHandler, WatchHandler } from "./hooks/handlers.js";
export type { HookInfo } from "./hooks/list.js";
export type { Match, MatchTest } from "./hooks/match.js";
export type {
  GuardOptions,
  HookCall,
  HookOptions,
  HookScope,
  OnFailure,
  WatchOptions,
} from "./hooks/registration.js";
export {
  AnswerError,
  type GuardAnswer,
  type HookAnswer,
  type OpenAt,
  type OwnAnswer,
  type Role,
} from "./points/answer.js";
export type * from "./points/data.js";
export type { AnswerEnd, Call, EventAt, Head, Purpose } from "./points/events.js";
export { type AnyPointName, type PointOf, pointNamed } from "./points/names.js";
export { type Declaration, type Fields, type OwnEvent, type OwnPoint, ownPoint } from "./points/own.js";
export { type GuardPoint, POINTS, type PointName, type VerdictWord } from "./points/table.js";
export {
  allow,
  ask,
  deny,
  goOn,
  halt,
  hold,
  type Outcome,
  proceed,
  recover,
  replace,
  retry,
  type Said,
  skip,
  stop,
  type VerdictAt,
} from "./points/verdict.js";
export type { Problem, Report } from "./problem.js";
export type { RecordLine, RecordOptions } from "./records.js";
export type { DispatchRecord, Kind, News, Ran, RunReport, SessionEvent, Trace } from "./sessions/news.js";
export { type Run, RunFailed } from "./sessions/run.js";
export type { Session, SessionInfo, SessionReport, Status } from "./sessions/session.js";
export type { SessionOptions, Sessions } from "./sessions/sessions.js";
export type { TlsOptions } from "./transport/address.js";
export { VERSION } from "./version.js";
