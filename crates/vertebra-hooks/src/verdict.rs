//! What hooks may answer: one verdict type per point, made of powers.
//!
//! A power is a trait (`CanDeny`), implemented by exactly those verdict types that honour it, and a function
//! (`deny("…")`) bounded by that trait. So an answer that a point cannot honour does not compile.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::HookError;

/// What a verdict is, whatever its point. Ordered by strength: in one dispatch the strongest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No opinion.
    Proceed,
    /// No opinion, and the hooks after this one need not run. Guards still do.
    Skip,
    /// The operation needs no permission.
    Allow,
    /// Here is the result: the operation need not happen.
    Replace,
    /// The failure is made good.
    Recover,
    /// Wait, then try again.
    Retry,
    /// Keep this back for now.
    Hold,
    /// A person has to decide.
    Ask,
    /// End the run.
    Stop,
    /// Go on, with an instruction: consumes soft stops.
    GoOn,
    /// End the stream.
    Halt,
    /// The operation must not happen.
    Deny,
}

impl Kind {
    /// The word for it on the wire: `go_on`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proceed => "proceed",
            Self::Skip => "skip",
            Self::Allow => "allow",
            Self::Replace => "replace",
            Self::Recover => "recover",
            Self::Retry => "retry",
            Self::Hold => "hold",
            Self::Ask => "ask",
            Self::Stop => "stop",
            Self::GoOn => "go_on",
            Self::Halt => "halt",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proceed => "proceeded",
            Self::Skip => "skipped the rest",
            Self::Allow => "allowed",
            Self::Replace => "replaced",
            Self::Recover => "recovered",
            Self::Retry => "retried",
            Self::Hold => "held back",
            Self::Ask => "asked",
            Self::Stop => "stopped",
            Self::GoOn => "continued",
            Self::Halt => "halted",
            Self::Deny => "denied",
        })
    }
}

/// The answers of one point. Implemented by [`verdict!`](crate::verdict!), not by hand.
pub trait Verdict: Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What this point can honour, besides going on.
    const POWERS: &'static [Kind];

    /// No opinion.
    fn proceed() -> Self;

    /// No opinion, and the rest of the hook phase need not run.
    fn skip() -> Self;

    /// What this verdict is.
    fn kind(&self) -> Kind;

    /// The reason or instruction given with it.
    fn reason(&self) -> Option<&str>;

    /// The verdict of this kind with this reason, if the point has the power and it takes just a reason.
    fn with_reason(kind: Kind, reason: String) -> Option<Self>;

    /// What a failure that fails closed becomes: the strongest refusal of the point, if it has one.
    fn refuse(reason: &str) -> Option<Self> {
        [Kind::Deny, Kind::Halt, Kind::Stop].into_iter().find_map(|kind| Self::with_reason(kind, reason.to_owned()))
    }

    /// Whether the operation can still be refused here; if so, hooks fail closed unless told otherwise.
    fn can_refuse() -> bool {
        Self::POWERS.iter().any(|power| matches!(power, Kind::Deny | Kind::Halt))
    }
}

/// A verdict type with which a guard can keep something from happening.
#[diagnostic::on_unimplemented(
    message = "`{Self}` decides nothing, so a guard has nothing to keep from happening here",
    label = "nothing can be refused at this point",
    note = "use `watch` to see what happens here, or `on` to change it"
)]
pub trait Decides: Verdict {}

macro_rules! powers {
    ($($(#[$doc:meta])* $trait:ident, $method:ident($($arg:ident: $ty:ty),*), $message:literal;)*) => {$(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(
            message = $message,
            label = "cannot be answered here",
            note = "a point takes the answers its verdict lists; a watch decides nothing and answers `Ok(())`"
        )]
        pub trait $trait: Verdict {
            /// Makes the verdict.
            fn $method($($arg: $ty),*) -> Self;
        }
    )*};
}

powers! {
    /// The point can go on without asking for permission.
    CanAllow, allow(), "`{Self}` cannot allow: nobody asks for permission at this point";
    /// The point can put the question to a person.
    CanAsk, ask(reason: String), "`{Self}` cannot ask: there is nothing to ask a person at this point";
    /// The point can keep the operation from happening.
    CanDeny, deny(reason: String), "`{Self}` cannot deny: nothing is left to deny at this point";
    /// The point can wait and try again.
    CanRetry, retry(after: Duration), "`{Self}` cannot retry: nothing can be repeated at this point";
    /// The point can end the run.
    CanStop, stop(reason: String), "`{Self}` cannot stop: the run cannot be ended at this point";
    /// The point can make the run go on.
    CanGoOn, go_on(instruction: String), "`{Self}` cannot continue: nothing is about to end at this point";
    /// The point can keep a piece back.
    CanHold, hold(), "`{Self}` cannot hold back: only streamed pieces can be kept back";
    /// The point can end a stream.
    CanHalt, halt(reason: String), "`{Self}` cannot halt: nothing is streamed at this point";
}

/// The point can take a result in place of the operation's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot replace: there is no result to put in place of another at this point",
    label = "cannot be answered here",
    note = "a point takes the answers its verdict lists; a watch decides nothing and answers `Ok(())`"
)]
pub trait CanReplace: Verdict {
    /// The result.
    type With;
    /// Makes the verdict.
    fn replace(with: Self::With) -> Self;
}

/// The point can make a failure good.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot recover: nothing has failed at this point",
    label = "cannot be answered here",
    note = "a point takes the answers its verdict lists; a watch decides nothing and answers `Ok(())`"
)]
pub trait CanRecover: Verdict {
    /// What the failure becomes.
    type With;
    /// Makes the verdict.
    fn recover(with: Self::With) -> Self;
}

/// No opinion: go on.
pub fn proceed<V: Verdict>() -> Result<V, HookError> {
    Ok(V::proceed())
}

/// No opinion, and the hooks after this one need not run. Guards run all the same.
pub fn skip<V: Verdict>() -> Result<V, HookError> {
    Ok(V::skip())
}

/// The operation needs no permission. Denies still win.
pub fn allow<V: CanAllow>() -> Result<V, HookError> {
    Ok(V::allow())
}

/// A person has to decide; nobody there means no.
pub fn ask<V: CanAsk>(reason: impl Into<String>) -> Result<V, HookError> {
    Ok(V::ask(reason.into()))
}

/// The operation must not happen; the model reads the reason.
pub fn deny<V: CanDeny>(reason: impl Into<String>) -> Result<V, HookError> {
    Ok(V::deny(reason.into()))
}

/// Here is the result: the operation need not happen.
pub fn replace<V: CanReplace>(with: impl Into<V::With>) -> Result<V, HookError> {
    Ok(V::replace(with.into()))
}

/// The failure is made good by this.
pub fn recover<V: CanRecover>(with: impl Into<V::With>) -> Result<V, HookError> {
    Ok(V::recover(with.into()))
}

/// Wait, then try again. Bounded by the operation's retry limit.
pub fn retry<V: CanRetry>(after: Duration) -> Result<V, HookError> {
    Ok(V::retry(after))
}

/// End the run, softly: a hook that says [`go_on`] may still win.
pub fn stop<V: CanStop>(reason: impl Into<String>) -> Result<V, HookError> {
    Ok(V::stop(reason.into()))
}

/// Go on, with an instruction for the model. Consumes every soft stop, never a hard one.
pub fn go_on<V: CanGoOn>(instruction: impl Into<String>) -> Result<V, HookError> {
    Ok(V::go_on(instruction.into()))
}

/// Keep this piece back; it comes again together with the next one.
pub fn hold<V: CanHold>() -> Result<V, HookError> {
    Ok(V::hold())
}

/// End the stream: this piece and all after it are withheld.
pub fn halt<V: CanHalt>(reason: impl Into<String>) -> Result<V, HookError> {
    Ok(V::halt(reason.into()))
}

/// Declares the verdict type of a point as a list of powers.
///
/// ```
/// use vertebra_hooks::{Kind, Verdict, verdict};
///
/// verdict! {
///     /// What a hook before a tool may answer.
///     pub enum BeforeTool { allow, ask, deny, retry, replace(String), stop }
/// }
///
/// let verdict: BeforeTool = serde_json::from_str(r#"{"verdict": "deny", "reason": "no"}"#)?;
/// assert_eq!(verdict.kind(), Kind::Deny);
/// assert!(serde_json::from_str::<BeforeTool>(r#"{"verdict": "go_on", "instruction": "x"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The powers are `allow`, `ask`, `deny`, `replace(T)`, `recover(T)`, `retry`, `stop`, `go_on`, `hold` and `halt`.
/// The crate that uses it needs `serde` with `derive`.
#[macro_export]
macro_rules! verdict {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($power:ident $(($with:ty))?),* $(,)? }) => {
        $crate::__verdict! { [$(#[$doc])* $vis $name] [] [] [] [] [] [] $([$power $(($with))?])* }
        $($crate::__power! { $name $power $(($with))? })*
    };
}

/// Grows the enum power by power: variants, powers, kinds, reasons, kinds that take just a reason, and whether it decides.
#[doc(hidden)]
#[macro_export]
macro_rules! __verdict {
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [allow] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The operation needs no permission. */ Allow,] [$($p)* Allow,]
            [$($k)* Self::Allow => $crate::Kind::Allow,] [$($r)*] [$($w)*] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [ask] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** A person has to decide. */ Ask { /** What to ask. */ reason: String },] [$($p)* Ask,]
            [$($k)* Self::Ask { .. } => $crate::Kind::Ask,] [$($r)* Self::Ask { reason } => Some(reason),] [$($w)* Ask reason,] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [deny] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The operation must not happen. */ Deny { /** Why. */ reason: String },] [$($p)* Deny,]
            [$($k)* Self::Deny { .. } => $crate::Kind::Deny,] [$($r)* Self::Deny { reason } => Some(reason),] [$($w)* Deny reason,] [decides] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [halt] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The stream ends here. */ Halt { /** Why. */ reason: String },] [$($p)* Halt,]
            [$($k)* Self::Halt { .. } => $crate::Kind::Halt,] [$($r)* Self::Halt { reason } => Some(reason),] [$($w)* Halt reason,] [decides] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [stop] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The run ends, softly. */ Stop { /** Why. */ reason: String },] [$($p)* Stop,]
            [$($k)* Self::Stop { .. } => $crate::Kind::Stop,] [$($r)* Self::Stop { reason } => Some(reason),] [$($w)* Stop reason,] [decides] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [go_on] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The run goes on. */ GoOn { /** What the model is told. */ instruction: String },] [$($p)* GoOn,]
            [$($k)* Self::GoOn { .. } => $crate::Kind::GoOn,] [$($r)* Self::GoOn { instruction } => Some(instruction),] [$($w)* GoOn instruction,] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [retry] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** Wait, then try again. */ Retry { /** How long to wait, in milliseconds. */ after_ms: u64 },] [$($p)* Retry,]
            [$($k)* Self::Retry { .. } => $crate::Kind::Retry,] [$($r)*] [$($w)*] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [hold] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The piece is kept back for now. */ Hold,] [$($p)* Hold,]
            [$($k)* Self::Hold => $crate::Kind::Hold,] [$($r)*] [$($w)*] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [replace($with:ty)] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** This is the result: the operation need not happen. */ Replace { /** The result. */ with: Box<$with> },] [$($p)* Replace,]
            [$($k)* Self::Replace { .. } => $crate::Kind::Replace,] [$($r)*] [$($w)*] [$($d)*] $($rest)* }
    };
    ($h:tt [$($v:tt)*] [$($p:tt)*] [$($k:tt)*] [$($r:tt)*] [$($w:tt)*] [$($d:tt)*] [recover($with:ty)] $($rest:tt)*) => {
        $crate::__verdict! { $h [$($v)* /** The failure is made good. */ Recover { /** By this. */ with: Box<$with> },] [$($p)* Recover,]
            [$($k)* Self::Recover { .. } => $crate::Kind::Recover,] [$($r)*] [$($w)*] [$($d)*] $($rest)* }
    };
    ([$(#[$doc:meta])* $vis:vis $name:ident] [$($v:tt)*] [$($p:ident,)*] [$($k:tt)*] [$($r:tt)*] [$($w:ident $field:ident,)*] [$($d:tt)*]) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(tag = "verdict", rename_all = "snake_case")]
        $vis enum $name {
            /// No opinion.
            Proceed,
            /// No opinion, and the rest of the hook phase need not run.
            Skip,
            $($v)*
        }

        impl $crate::Verdict for $name {
            const POWERS: &'static [$crate::Kind] = &[$($crate::Kind::$p,)*];

            fn proceed() -> Self {
                Self::Proceed
            }

            fn skip() -> Self {
                Self::Skip
            }

            fn kind(&self) -> $crate::Kind {
                match self {
                    Self::Proceed => $crate::Kind::Proceed,
                    Self::Skip => $crate::Kind::Skip,
                    $($k)*
                }
            }

            #[allow(unreachable_patterns, clippy::match_single_binding)]
            fn reason(&self) -> Option<&str> {
                match self {
                    $($r)*
                    _ => None,
                }
            }

            #[allow(unused_variables, clippy::match_single_binding)]
            fn with_reason(kind: $crate::Kind, text: String) -> Option<Self> {
                match kind {
                    $($crate::Kind::$w => Some(Self::$w { $field: text }),)*
                    _ => None,
                }
            }
        }

        $crate::__decides! { $name $($d)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __decides {
    ($name:ident decides) => {
        impl $crate::Decides for $name {}
    };
    ($name:ident) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __power {
    ($name:ident allow) => {
        impl $crate::CanAllow for $name {
            fn allow() -> Self {
                Self::Allow
            }
        }
    };
    ($name:ident ask) => {
        impl $crate::CanAsk for $name {
            fn ask(reason: String) -> Self {
                Self::Ask { reason }
            }
        }
    };
    ($name:ident deny) => {
        impl $crate::CanDeny for $name {
            fn deny(reason: String) -> Self {
                Self::Deny { reason }
            }
        }
    };
    ($name:ident halt) => {
        impl $crate::CanHalt for $name {
            fn halt(reason: String) -> Self {
                Self::Halt { reason }
            }
        }
    };
    ($name:ident stop) => {
        impl $crate::CanStop for $name {
            fn stop(reason: String) -> Self {
                Self::Stop { reason }
            }
        }
    };
    ($name:ident go_on) => {
        impl $crate::CanGoOn for $name {
            fn go_on(instruction: String) -> Self {
                Self::GoOn { instruction }
            }
        }
    };
    ($name:ident retry) => {
        impl $crate::CanRetry for $name {
            fn retry(after: ::std::time::Duration) -> Self {
                Self::Retry { after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }
            }
        }
    };
    ($name:ident hold) => {
        impl $crate::CanHold for $name {
            fn hold() -> Self {
                Self::Hold
            }
        }
    };
    ($name:ident replace($with:ty)) => {
        impl $crate::CanReplace for $name {
            type With = $with;
            fn replace(with: $with) -> Self {
                Self::Replace { with: Box::new(with) }
            }
        }
    };
    ($name:ident recover($with:ty)) => {
        impl $crate::CanRecover for $name {
            type With = $with;
            fn recover(with: $with) -> Self {
                Self::Recover { with: Box::new(with) }
            }
        }
    };
}
