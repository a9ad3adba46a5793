//! Points of a program's own: their events, and the macro that declares them.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use vertebra_hooks::{AttributeValue, Change, Event};

use crate::{
    At,
    points::attributes::{Located, of_run},
};

/// The event of a point of your own: your data, and the head that every event of a run has.
///
/// It dereferences to the data, so that a hook reads `cx.service` and writes `cx.replicas = 2`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "E: DeserializeOwned"))]
pub struct OwnEvent<E> {
    /// Who, where, when.
    #[serde(flatten)]
    pub at: At,
    /// What the point is about.
    #[serde(flatten)]
    pub data: E,
}

impl<E> Deref for OwnEvent<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.data
    }
}

impl<E> DerefMut for OwnEvent<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.data
    }
}

impl<E: Event> Event for OwnEvent<E> {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        self.data.attribute(key).or_else(|| of_run(&self.at, key))
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        self.data.changes(&after.data)
    }
}

impl<E: Event> Located for OwnEvent<E> {
    fn at(&self) -> &At {
        &self.at
    }

    fn left(&self) -> Option<Value> {
        serde_json::to_value(&self.data).ok()
    }

    fn recall(&mut self, left: Value) -> Result<(), serde_json::Error> {
        self.data = serde_json::from_value(left)?;
        Ok(())
    }
}

/// Declares a point of your own, which [`Run::fire`](crate::Run::fire) and [`Invocation::fire`](crate::Invocation::fire)
/// fire in a run. Register it with [`AgentBuilder::point`](crate::AgentBuilder::point).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use vertebra::{AttributeValue, Event, point, verdict};
///
/// /// What hooks see.
/// #[derive(Clone, Serialize, Deserialize)]
/// pub struct Deployment {
///     service: String,
///     replicas: u32,
/// }
///
/// impl Event for Deployment {
///     fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
///         (key == "service").then_some(AttributeValue::Text(&self.service))
///     }
/// }
///
/// verdict! {
///     /// What hooks may answer.
///     pub enum DeployVerdict { deny }
/// }
///
/// point! {
///     /// A service is about to be deployed.
///     pub BeforeDeploy: Deployment => DeployVerdict {
///         aliases: ["PreDeploy"],
///         attributes: [service: Name],
///         changes: ["replicas"],
///         sample: Deployment { service: "shop".to_owned(), replicas: 2 },
///     }
/// }
/// ```
///
/// `attributes` are what matchers may test, each with the [kind of its patterns](crate::PatternKind); `session` and `agent`
/// are among them at every point. `changes` are the fields that hooks outside the program may change. `sample` is an event
/// with a value in every field: tools that list hooks use it. The first three may be left out.
#[macro_export]
macro_rules! point {
    (
        $(#[doc = $about:expr])*
        $vis:vis $point:ident: $event:ty => $verdict:ty {
            $(aliases: [$($alias:literal),* $(,)?],)?
            $(attributes: [$($key:ident: $kind:ident),* $(,)?],)?
            $(changes: [$($field:literal),* $(,)?],)?
            sample: $sample:expr $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis struct $point;

        impl $crate::Point for $point {
            const NAME: &'static str = stringify!($point);
            type Event = $crate::OwnEvent<$event>;
            type State = $crate::AgentState;
            type Verdict = $verdict;
            const ATTRIBUTES: &'static [$crate::Attribute] = &[
                $($($crate::Attribute { key: stringify!($key), kind: $crate::PatternKind::$kind },)*)?
                $crate::attribute::session::ATTRIBUTE,
                $crate::attribute::agent::ATTRIBUTE,
            ];
        }

        impl $crate::HasAttribute<$crate::attribute::session> for $point {}
        impl $crate::HasAttribute<$crate::attribute::agent> for $point {}

        impl $crate::AgentPoint for $point {
            fn info(self) -> &'static $crate::PointInfo {
                const INFO: $crate::PointInfo = $crate::PointInfo {
                    about: concat!($($about),*).trim_ascii(),
                    aliases: &[$($($alias),*)?],
                    changes: $crate::Changeable::Fields(&[$($($field),*)?]),
                    sample: |_| $crate::macros::json(&$sample),
                    ..$crate::PointInfo::of::<$point>()
                };
                &INFO
            }
        }
    };
}
