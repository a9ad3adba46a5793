//! Which roles a registration is for, by the options that it has.
//!
//! A point alone is for every role. An option that a role cannot have narrows that, and [`Attach`](crate::Attach) accepts
//! a registration only where the role is left. Each set of roles is named after the option that made it, so that the
//! compiler can say which option to remove.

/// Every role: no option says otherwise.
pub enum AnyRole {}

/// Hooks, because of a failure policy: `fail_open`, `fail_closed` or `fail_ask`.
pub enum WithFailurePolicy {}

/// Hooks and guards, because of `max_retries` or `shadow`.
pub enum Deciding {}

/// Watches, because of `detached`.
pub enum RunsDetached {}

/// Hooks and watches, because of `own_agent_only`.
pub enum OwnAgent {}

/// Hooks, because of `own_agent_only` and of `max_retries` or `shadow`.
pub enum OwnAgentDeciding {}

/// The roles that are left when an option is added that is for `Option` alone.
#[diagnostic::on_unimplemented(
    message = "no role has both of these options",
    label = "this option and an earlier one are for different roles",
    note = "`detached` is for a watch, which decides nothing",
    note = "`fail_open`, `fail_closed`, `fail_ask`, `max_retries` and `shadow` are for a hook or a guard, which decides"
)]
pub trait Narrow<Option> {
    /// The roles that are left.
    type Roles;
}

macro_rules! narrow {
    ($($before:ident + $option:ident = $left:ident)*) => {
        $(#[diagnostic::do_not_recommend]
        impl Narrow<$option> for $before {
            type Roles = $left;
        })*
    };
}

narrow! {
    AnyRole + WithFailurePolicy = WithFailurePolicy
    AnyRole + Deciding = Deciding
    AnyRole + RunsDetached = RunsDetached
    AnyRole + OwnAgent = OwnAgent

    WithFailurePolicy + WithFailurePolicy = WithFailurePolicy
    WithFailurePolicy + Deciding = WithFailurePolicy
    WithFailurePolicy + OwnAgent = WithFailurePolicy

    Deciding + WithFailurePolicy = WithFailurePolicy
    Deciding + Deciding = Deciding
    Deciding + OwnAgent = OwnAgentDeciding

    RunsDetached + RunsDetached = RunsDetached
    RunsDetached + OwnAgent = RunsDetached

    OwnAgent + WithFailurePolicy = WithFailurePolicy
    OwnAgent + Deciding = OwnAgentDeciding
    OwnAgent + RunsDetached = RunsDetached
    OwnAgent + OwnAgent = OwnAgent

    OwnAgentDeciding + WithFailurePolicy = WithFailurePolicy
    OwnAgentDeciding + Deciding = OwnAgentDeciding
    OwnAgentDeciding + OwnAgent = OwnAgentDeciding
}

/// Whose verdict the dispatch waits for: hooks and guards.
#[diagnostic::on_unimplemented(
    message = "only a watch can be detached: a dispatch waits for the verdict of a hook or a guard",
    label = "this registration is `detached`",
    note = "remove `.detached()`, or register with `watch` what decides nothing"
)]
pub trait Awaited {}

/// What a guard's failure comes to: it refuses.
#[diagnostic::on_unimplemented(
    message = "a guard cannot have a failure policy: guards fail closed, always",
    label = "this registration has a failure policy",
    note = "remove `.fail_open()`, `.fail_closed()` or `.fail_ask()`, or register with `on` if a failure may be ignored"
)]
pub trait FailsClosed {}

/// Where a guard holds: in every subagent too.
#[diagnostic::on_unimplemented(
    message = "a guard cannot be for its own agent only: guards hold in every subagent",
    label = "this registration is `own_agent_only`",
    note = "remove `.own_agent_only()`, or register with `on` what subagents need not keep to"
)]
pub trait Inherited {}

/// What a watch's failure comes to: nothing.
#[diagnostic::on_unimplemented(
    message = "a watch cannot have a failure policy: its failure is logged and changes nothing",
    label = "this registration has a failure policy",
    note = "remove `.fail_open()`, `.fail_closed()` or `.fail_ask()`, or register with `on` what may refuse"
)]
pub trait FailsUnnoticed {}

/// What a watch decides: nothing.
#[diagnostic::on_unimplemented(
    message = "a watch cannot have `max_retries` or `shadow`: it decides nothing",
    label = "this registration has `max_retries` or `shadow`",
    note = "remove `.max_retries(..)` or `.shadow()`, or register with `on` what decides"
)]
pub trait DecidesNothing {}

macro_rules! roles {
    ($($set:ident: $($is:ident)*;)*) => {
        $($(
            #[diagnostic::do_not_recommend]
            impl $is for $set {}
        )*)*
    };
}

roles! {
    AnyRole: Awaited FailsClosed Inherited FailsUnnoticed DecidesNothing;
    WithFailurePolicy: Awaited Inherited DecidesNothing;
    Deciding: Awaited FailsClosed Inherited FailsUnnoticed;
    RunsDetached: FailsClosed Inherited FailsUnnoticed DecidesNothing;
    OwnAgent: Awaited FailsClosed FailsUnnoticed DecidesNothing;
    OwnAgentDeciding: Awaited FailsClosed FailsUnnoticed;
}

/// What no around is: something with a failure policy of its own, with retries, in the shadow or detached.
#[diagnostic::on_unimplemented(
    message = "an around cannot have this option: its operation waits for it, and fails if it fails",
    label = "not an option of an around",
    note = "remove the option, and handle failures inside the around: it may call `next.run(cx)` again, or not at all"
)]
pub trait RunsApart {}
