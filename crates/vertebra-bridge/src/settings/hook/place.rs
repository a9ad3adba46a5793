//! What a hook can do at a point, taken from the types of the point.

use vertebra::{ATTRIBUTES, AgentPoint, Attribute, Changeable, Kind, POINT_TABLE, PointInfo, PointVisitor, at_point};

use crate::wire::{EventError, Happened, Reply};

/// What a hook can do at a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) point: &'static str,
    pub(super) powers: &'static [Kind],
    pub(super) open: Changeable,
    /// Whether guards can be registered here.
    pub(super) decides: bool,
    /// The attributes that can be matched.
    pub(super) attributes: &'static [Attribute],
}

impl Place {
    /// Looks a point up by name.
    pub(super) fn named(point: &'static str) -> Self {
        PointInfo::named(point).map_or(Self::ANY, Self::of)
    }

    fn of(info: &PointInfo) -> Self {
        let PointInfo { name, powers, changes, guards, attributes, .. } = *info;
        Self { point: name, powers, open: changes, decides: guards, attributes }
    }

    /// A place where everything is possible, for the JSON schema.
    pub(super) const ANY: Self =
        Self { point: "", powers: &[], open: Changeable::Nothing, decides: false, attributes: ATTRIBUTES };

    /// Lists the points that fulfil a condition, for a hint.
    pub(super) fn all_that(holds: impl Fn(&Self) -> bool) -> String {
        let points = POINT_TABLE.iter().map(Self::of).filter(|place| holds(place));
        points.map(|place| place.point).collect::<Vec<_>>().join(", ")
    }

    /// Whether events here have this attribute.
    pub(super) fn has(&self, key: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.key == key)
    }

    /// Checks that the changes in an answer are possible here.
    pub(super) fn takes(&self, reply: &Reply) -> Result<(), String> {
        at_point(self.point, Check(reply)).unwrap_or(Ok(()))
    }
}

struct Check<'r>(&'r Reply);

impl PointVisitor for Check<'_> {
    type Out = Result<(), String>;

    fn at<P: AgentPoint>(self, _: P) -> Self::Out {
        self.0.fits::<P>().map_err(|error| error.to_string())?;
        // A value that replaces a field must have the type of that field.
        let set = self.0.set.as_ref().and_then(|set| set.as_object());
        match (P::INFO.changes, set) {
            (Changeable::Fields(_), Some(set)) => match Happened::at(P::NAME, set) {
                Err(EventError::Fields { message, .. }) => {
                    Err(format!("the value does not fit {}: {message}", P::NAME))
                }
                Ok(_) | Err(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use vertebra::Event as _;

    use super::*;

    /// The attributes that a sample event of a point answers for.
    struct Answered;

    impl PointVisitor for Answered {
        type Out = Vec<&'static str>;

        fn at<P: AgentPoint>(self, _: P) -> Self::Out {
            let event = Happened::at(P::NAME, &Map::new()).and_then(|happened| happened.typed::<P>());
            let event = event.expect("an event can be made of a name alone");
            let keys = ATTRIBUTES.iter().map(|attribute| attribute.key);
            keys.filter(|key| event.attribute(key).is_some()).collect()
        }
    }

    #[test]
    fn a_point_can_match_exactly_the_attributes_its_events_have() {
        for info in POINT_TABLE {
            let declared: Vec<&str> = info.attributes.iter().map(|attribute| attribute.key).collect();
            assert_eq!(at_point(info.name, Answered), Some(declared), "{}", info.name);
        }
    }
}
