//! What a hook can do at a point, taken from the types of the point.

use vertebra::{ATTRIBUTES, AnyPoint, Attribute, Changeable, Kind, POINT_TABLE};

use crate::wire::Reply;

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
    /// The point itself; not of the place where everything is possible.
    at: Option<AnyPoint>,
}

impl Place {
    /// What a hook can do at this point.
    pub(super) fn of(point: AnyPoint) -> Self {
        let info = point.row();
        Self {
            point: info.name,
            powers: info.powers,
            open: info.changes,
            decides: info.guards,
            attributes: info.attributes,
            at: Some(point),
        }
    }

    /// A place where everything is possible, for the JSON schema.
    pub(super) const ANY: Self =
        Self { point: "", powers: &[], open: Changeable::Nothing, decides: false, attributes: ATTRIBUTES, at: None };

    /// Returns whether the program or the file declares the point.
    pub(super) fn is_own(&self) -> bool {
        self.at.is_some_and(|point| !point.is_built_in())
    }

    /// Lists the built-in points that fulfil a condition, for a hint.
    pub(super) fn all_that(holds: impl Fn(&Self) -> bool) -> String {
        let points = POINT_TABLE.iter().copied().map(Self::of).filter(|place| holds(place));
        points.map(|place| place.point).collect::<Vec<_>>().join(", ")
    }

    /// Whether events here have this attribute.
    pub(super) fn has(&self, key: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.key == key)
    }

    /// Checks that the changes in an answer are possible here.
    pub(super) fn takes(&self, reply: &Reply) -> Result<(), String> {
        let Some(point) = self.at else { return Ok(()) };
        reply.fits(point.row()).map_err(|error| error.to_string())?;
        // A value that replaces a field must have the type of that field.
        let set = reply.set.as_ref().and_then(|set| set.as_object());
        let (Changeable::Fields(_), Some(set)) = (self.open, set) else { return Ok(()) };
        let mut event = point.sample();
        event.as_object_mut().into_iter().for_each(|event| event.extend(set.clone()));
        let fits = point.complete(event).map(drop);
        fits.map_err(|message| format!("the value does not fit {}: {message}", self.point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_can_match_exactly_the_attributes_its_events_have() {
        for point in POINT_TABLE {
            let declared: Vec<&str> = point.attributes.iter().map(|attribute| attribute.key).collect();
            let answered = point.attributes_of(point.sample()).expect("a sample event is an event");
            assert_eq!(answered, declared, "{point}");
        }
    }
}
