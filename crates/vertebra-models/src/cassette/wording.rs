//! How texts are worded in a recording: without secrets, and with names for what differs from place to place.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::tape::Piece;
use crate::Secret;

/// Changes a text, or leaves it.
pub(super) type Rewrite = dyn for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync;

/// What is put in the place of what.
#[derive(Clone, Default)]
pub(super) struct Wording {
    secrets: Vec<Secret>,
    redactions: Vec<Arc<Rewrite>>,
    /// Names, and what they stand for here.
    places: Vec<(String, String)>,
}

impl Wording {
    pub(super) fn secret(&mut self, secret: &Secret) {
        self.secrets.push(secret.clone());
    }

    pub(super) fn redact(&mut self, redaction: Arc<Rewrite>) {
        self.redactions.push(redaction);
    }

    pub(super) fn place(&mut self, name: &str, here: &str) {
        if !here.is_empty() {
            self.places.push((name.to_owned(), here.to_owned()));
        }
    }

    /// A text as it stands in a recording.
    pub(super) fn written<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut written = Cow::Borrowed(text);
        for secret in &self.secrets {
            change(&mut written, |text| secret.scrub(text));
        }
        for redaction in &self.redactions {
            change(&mut written, |text| redaction(text).into_owned());
        }
        for (name, here) in &self.places {
            change(&mut written, |text| text.replace(here, name));
        }
        written
    }

    /// A text of a recording as it is said here.
    pub(super) fn spoken<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut spoken = Cow::Borrowed(text);
        for (name, here) in &self.places {
            change(&mut spoken, |text| text.replace(name, here));
        }
        spoken
    }
}

fn change(text: &mut Cow<'_, str>, to: impl FnOnce(&str) -> String) {
    let changed = to(text);
    if changed != **text {
        *text = Cow::Owned(changed);
    }
}

/// Rewrites every text in a value, keys too.
pub(super) fn in_value(value: &mut Value, rewrite: &impl Fn(&str) -> Cow<'_, str>) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = rewrite(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(item, rewrite)),
        Value::Object(fields) => {
            let renamed = fields.keys().any(|key| matches!(rewrite(key), Cow::Owned(_)));
            if renamed {
                let all = std::mem::take(fields).into_iter();
                *fields = all.map(|(key, value)| (rewrite(&key).into_owned(), value)).collect::<Map<_, _>>();
            }
            fields.values_mut().for_each(|value| in_value(value, rewrite));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Rewrites what pieces add up to. What a piece alone does not show may be found where two meet, so a channel in which
/// anything changes becomes one piece.
pub(super) fn in_pieces(pieces: Vec<Piece>, rewrite: &impl Fn(&str) -> Cow<'_, str>) -> Vec<Piece> {
    let mut whole: BTreeMap<Option<i64>, String> = BTreeMap::new();
    for piece in &pieces {
        whole.entry(channel(piece)).or_default().push_str(text(piece));
    }
    let mut changed: BTreeMap<_, Option<String>> = BTreeMap::new();
    for (channel, whole) in &whole {
        if let Cow::Owned(text) = rewrite(whole) {
            changed.insert(*channel, Some(text));
        }
    }
    let rewritten = pieces.into_iter().filter_map(|piece| match changed.get_mut(&channel(&piece)) {
        None => Some(piece),
        Some(text) => text.take().map(|text| with_text(piece, text)),
    });
    rewritten.collect()
}

/// Text, reasoning and each call apart.
fn channel(piece: &Piece) -> Option<i64> {
    match piece {
        Piece::Text(_) => None,
        Piece::Reasoning(_) => Some(-1),
        Piece::Call { index, .. } => Some(i64::from(*index)),
    }
}

fn text(piece: &Piece) -> &str {
    match piece {
        Piece::Text(text) | Piece::Reasoning(text) | Piece::Call { text, .. } => text,
    }
}

fn with_text(piece: Piece, text: String) -> Piece {
    match piece {
        Piece::Text(_) => Piece::Text(text),
        Piece::Reasoning(_) => Piece::Reasoning(text),
        Piece::Call { index, tool, .. } => Piece::Call { index, tool, text },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wording() -> Wording {
        let mut wording = Wording::default();
        wording.secret(&Secret::new("sk-planted-0123456789"));
        wording.place("$DIR", "/tmp/x1");
        wording
    }

    #[test]
    fn a_secret_that_is_cut_in_two_pieces_is_found_where_they_meet() {
        let call = |text: &str| Piece::Call { index: 0, tool: "bash".to_owned(), text: text.to_owned() };
        let say = |text: &str| Piece::Text(text.to_owned());
        let pieces = vec![say("a"), call("{\"k\": \"sk-planted-"), say("b"), call("0123456789\"}")];
        let wording = wording();
        let written = in_pieces(pieces, &|text| wording.written(text));
        assert_eq!(written, [say("a"), call("{\"k\": \"[key]\"}"), say("b")]);
    }

    #[test]
    fn a_place_has_its_name_in_the_recording_and_its_path_here() {
        let wording = wording();
        let mut value = json!({"/tmp/x1/a": ["/tmp/x1/b", 1, null]});
        in_value(&mut value, &|text| wording.written(text));
        assert_eq!(value, json!({"$DIR/a": ["$DIR/b", 1, null]}));
        in_value(&mut value, &|text| wording.spoken(text));
        assert_eq!(value, json!({"/tmp/x1/a": ["/tmp/x1/b", 1, null]}));
    }
}
