//! A random agent, as data.

use proptest::{collection::vec, prelude::*};

/// Everything that varies from agent to agent.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The hooks of the top agent, of its child, and of its grandchild.
    pub(crate) hooks: [Vec<HookPlan>; 3],
    /// What each of their models asks for, step by step.
    pub(crate) turns: [Vec<Vec<Call>>; 3],
    pub(crate) person: Person,
    pub(crate) leave: Leave,
    pub(crate) max_steps: u64,
    /// Whether its time is limited.
    pub(crate) timed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct HookPlan {
    pub(crate) place: Place,
    pub(crate) guard: bool,
    pub(crate) priority: i32,
    pub(crate) does: Does,
    /// Acts at every so manieth call, and has no opinion otherwise.
    pub(crate) every: u32,
    pub(crate) fail_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    SessionStart,
    PromptSubmit,
    BeforeStep,
    BeforeInference,
    AfterInference,
    BeforeToolUse,
    PermissionRequest,
    AfterToolUse,
    ToolUseFailed,
    AfterStep,
    ShouldContinue,
    Output,
    OnError,
    SubagentStart,
    ExecutionEnd,
    AroundTool,
    AroundModel,
    AroundStep,
}

/// What a hook does. What its point cannot honour it cannot write, and proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Proceed,
    Rewrite(u8),
    Skip,
    Allow,
    Ask,
    Deny,
    Replace,
    Retry,
    Stop,
    GoOn,
    Error,
    Panic,
    Hang,
    Yield,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    /// Has an effect.
    Act(u8),
    /// Fails after its effect.
    Fail(u8),
    /// Only looks.
    Look(u8),
    /// Lets a child do something.
    Delegate,
    /// Has arguments that are not JSON.
    Malformed,
    Unknown,
    /// Is never asked for: the model fails instead of answering.
    NoAnswer,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Person {
    Nobody,
    Yes,
    No,
    Edit(u8),
    OtherArguments,
    Sleeps,
    Panics,
}

/// When the caller leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Leave {
    Never,
    /// Drops the run when it is looked at for the so manieth time.
    AtPoll(u8),
    /// Cancels the run at this line of the journal.
    Cancel(u8),
    /// Suspends the run at this line of the journal.
    Suspend(u8),
    /// The whole process is gone at this line of the journal, before or after it is safe.
    Crash(u8, bool),
}

fn place() -> impl Strategy<Value = Place> {
    use Place::*;
    prop_oneof![
        4 => Just(BeforeToolUse),
        2 => Just(AfterToolUse),
        2 => Just(AroundTool),
        1 => Just(PermissionRequest),
        1 => Just(ToolUseFailed),
        2 => prop::sample::select(vec![BeforeStep, BeforeInference, AfterInference, AfterStep, ShouldContinue]),
        2 => prop::sample::select(vec![SessionStart, PromptSubmit, Output, OnError, SubagentStart, ExecutionEnd]),
        1 => prop::sample::select(vec![AroundModel, AroundStep]),
    ]
}

fn does() -> impl Strategy<Value = Does> {
    use Does::*;
    prop_oneof![
        3 => any::<u8>().prop_map(Rewrite),
        4 => prop::sample::select(vec![Proceed, Skip, Allow, Ask, Replace, Retry, Yield]),
        2 => prop::sample::select(vec![Deny, Stop, GoOn, Error, Panic, Hang]),
    ]
}

fn hook() -> impl Strategy<Value = HookPlan> {
    let options = (any::<bool>(), 0..5i32, 1..4u32, any::<bool>());
    (place(), does(), options).prop_map(|(place, does, (guard, priority, every, fail_open))| HookPlan {
        place,
        guard,
        priority,
        does,
        every,
        fail_open,
    })
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => any::<u8>().prop_map(Call::Act),
        1 => any::<u8>().prop_map(Call::Fail),
        3 => any::<u8>().prop_map(Call::Look),
        3 => Just(Call::Delegate),
        1 => prop::sample::select(vec![Call::Malformed, Call::Unknown, Call::NoAnswer]),
    ]
}

fn person() -> impl Strategy<Value = Person> {
    use Person::*;
    prop_oneof![prop::sample::select(vec![Nobody, Yes, No, OtherArguments, Sleeps, Panics]), any::<u8>().prop_map(Edit)]
}

/// Callers who stay, leave, or cancel.
pub(crate) fn leaving() -> impl Strategy<Value = Leave> {
    prop_oneof![
        2 => Just(Leave::Never),
        1 => (1..12u8).prop_map(Leave::AtPoll),
        1 => (0..60u8).prop_map(Leave::Cancel),
    ]
}

pub(crate) fn crashing() -> impl Strategy<Value = Leave> {
    (0..80u8, any::<bool>()).prop_map(|(line, safe)| Leave::Crash(line, safe))
}

pub(crate) fn suspending() -> impl Strategy<Value = Leave> {
    (0..80u8).prop_map(Leave::Suspend)
}

/// Whoever leaves a run that somebody else finishes.
pub(crate) fn interrupting() -> impl Strategy<Value = Leave> {
    prop_oneof![2 => crashing(), 1 => suspending()]
}

impl HookPlan {
    /// A guard that denies everything there.
    pub(crate) fn denying(place: Place) -> Self {
        Self { place, guard: true, priority: 0, does: Does::Deny, every: 1, fail_open: false }
    }
}

impl Plan {
    /// The same with hooks that remember nothing, and with more time than anybody needs: a replay has a time of its own.
    pub(crate) fn in_any_time(mut self) -> Self {
        self.hooks.iter_mut().flatten().for_each(|hook| hook.every = 1);
        self.timed = false;
        self
    }

    /// The same with more steps, too, than children at work at the same time could compete for.
    pub(crate) fn in_any_order(self) -> Self {
        Self { max_steps: 1000, ..self.in_any_time() }
    }

    /// The same with arounds that do the same again: they are run through once more, and what one began that now answers
    /// itself is left.
    pub(crate) fn steady(mut self) -> Self {
        let around =
            |hook: &&mut HookPlan| matches!(hook.place, Place::AroundModel | Place::AroundStep | Place::AroundTool);
        self.hooks.iter_mut().flatten().filter(around).for_each(|hook| hook.every = 1);
        self
    }

    /// The same with another guard in front of every tool.
    pub(crate) fn stricter(self) -> Self {
        self.with(HookPlan::denying(Place::BeforeToolUse))
    }

    /// The same with another hook of the top agent.
    pub(crate) fn with(mut self, hook: HookPlan) -> Self {
        self.hooks[0].push(hook);
        self
    }
}

pub(crate) fn plan(leave: impl Strategy<Value = Leave>) -> impl Strategy<Value = Plan> {
    let turns = || vec(vec(call(), 1..4), 0..4);
    let hooks = (vec(hook(), 0..7), vec(hook(), 0..3), vec(hook(), 0..2));
    (hooks, (turns(), turns(), turns()), person(), leave, 1..12u64).prop_map(
        |(hooks, turns, person, leave, max_steps)| Plan {
            hooks: hooks.into(),
            turns: turns.into(),
            person,
            leave,
            max_steps,
            timed: true,
        },
    )
}
