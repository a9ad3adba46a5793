//! Marks that stand for the secrets of a file, and the way back: the file is read again, and each mark names a place in it.
//!
//! A mark such as `[REDACTED:secret#k3f9ab]` carries a keyed fingerprint of the session, the file, the secret and which of
//! several equal secrets it is. The key lives as long as the process and is stored nowhere, so a mark tells nothing about
//! the secret, and a mark of another session, of another file or of an earlier process cannot be resolved.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
    path::Path,
    sync::{Arc, LazyLock},
};

use regex::Regex;

use super::{Place, Redaction, Strategy, Text, kinds::is_configuration, random_key, redactor::Redactor};

/// How every mark begins.
const BEGIN: &str = "[REDACTED:";

/// The key of the fingerprints.
static KEY: LazyLock<[u8; 32]> = LazyLock::new(random_key);

/// A mark with its kind and its id. A hash after the kind is the id of another strategy.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"\[REDACTED:([^\s\[\]#:]{1,100})(?::[0-9a-f]{8})?(?:#([a-z0-9]{6}))?\]";
    Regex::new(pattern).expect("the pattern is a regular expression")
});

/// Hides secrets in files behind marks that can be resolved.
#[derive(Clone)]
pub(crate) struct Marks {
    redactor: Arc<Redactor>,
    /// For configuration files.
    configuration: Arc<Redactor>,
    kinds: Arc<HashSet<Arc<str>>>,
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marks").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

/// A file whose secrets are hidden.
pub(crate) struct HiddenFile {
    /// The text, with a mark in the place of each secret. It has the same lines.
    pub(crate) text: String,
    /// Each mark in it, and where in the original the secret is.
    marks: Vec<(String, Range<usize>)>,
    /// Where in the text the marks are.
    spans: Vec<Range<usize>>,
    /// The kinds of the secrets.
    hidden: HashSet<Arc<str>>,
    /// The same text with marks that have no id, if anything is hidden.
    plain: Option<String>,
    kinds: Arc<HashSet<Arc<str>>>,
}

/// A mark that stands for no secret of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    pub(crate) mark: String,
    /// Whether it names a place at all.
    pub(crate) has_id: bool,
}

impl Marks {
    pub(crate) fn new(redaction: &Redaction) -> Self {
        let scope = redaction.scope(Place::Results);
        let configuration = redaction.redactor_of(scope, Text::Configuration);
        let kinds = configuration.kinds().cloned().collect();
        let redactor = Arc::new(redaction.redactor(scope));
        Self { redactor, configuration: Arc::new(configuration), kinds: Arc::new(kinds) }
    }

    /// Hides the secrets of a file.
    pub(crate) fn hide(&self, session: &str, file: &Path, body: &str) -> HiddenFile {
        let is_configuration = is_configuration(&file.to_string_lossy());
        let secrets = if is_configuration { &self.configuration } else { &self.redactor }.secrets(body);
        let mut file_text = HiddenFile {
            text: String::with_capacity(body.len()),
            marks: Vec::new(),
            spans: Vec::new(),
            hidden: HashSet::new(),
            plain: None,
            kinds: self.kinds.clone(),
        };
        let (mut plain, mut at) = (String::new(), 0);
        let mut seen: HashMap<(&str, &str), u32> = HashMap::new();
        // A text that is refused as a whole is refused by whoever passes it on.
        for secret in secrets.iter().filter(|secret| secret.strategy != Strategy::Block) {
            for range in lines(body, &secret.range) {
                let value = &body[range.clone()];
                let nth = seen.entry((&*secret.kind, value)).or_default();
                let id = id([session.as_bytes(), file.as_os_str().as_encoded_bytes()], &secret.kind, value, *nth);
                *nth += 1;
                let mark = format!("{BEGIN}{}#{id}]", secret.kind);
                for text in [&mut file_text.text, &mut plain] {
                    text.push_str(&body[at..range.start]);
                }
                let begin = file_text.text.len();
                file_text.text.push_str(&mark);
                file_text.spans.push(begin..file_text.text.len());
                plain.push_str(BEGIN);
                plain.push_str(&secret.kind);
                at = range.end;
                file_text.marks.push((mark, range));
                file_text.hidden.insert(secret.kind.clone());
            }
        }
        file_text.text.push_str(&body[at..]);
        if !file_text.marks.is_empty() {
            plain.push_str(&body[at..]);
            file_text.plain = Some(plain);
        }
        file_text
    }
}

impl HiddenFile {
    /// A file in which nothing is looked for.
    pub(crate) fn open(body: &str) -> Self {
        let (marks, spans, hidden, kinds) = (Vec::new(), Vec::new(), HashSet::new(), Arc::default());
        Self { text: body.to_owned(), marks, spans, hidden, plain: None, kinds }
    }

    /// The text without its secrets, if it has any: for a fingerprint that tells nothing about them.
    pub(crate) fn without_secrets(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// Whether a range of the text cuts a mark in two, or lies within one.
    pub(crate) fn is_cut_by(&self, range: &Range<usize>) -> bool {
        let at = self.spans.partition_point(|span| span.end <= range.start);
        let meets = self.spans[at..].iter().take_while(|span| span.start < range.end);
        meets.into_iter().any(|span| span.start < range.start || span.end > range.end)
    }

    /// Refuses a mark in a text of the model that stands for no secret of this file. What the file itself says, word for
    /// word, is no mark, unless it may as well stand for a secret.
    pub(crate) fn check(&self, body: &str, text: &str) -> Result<(), Unresolved> {
        if !text.contains(BEGIN) {
            return Ok(());
        }
        for found in MARK.captures_iter(text).filter(|found| self.is_mark(found)) {
            let (mark, has_id) = (&found[0], found.get(2).is_some());
            let known = self.marks.iter().any(|(known, _)| known == mark);
            let is_said = body.contains(mark) && (has_id || !self.hidden.contains(&found[1]));
            if !known && !is_said {
                return Err(Unresolved { mark: mark.to_owned(), has_id });
            }
        }
        Ok(())
    }

    /// Puts the secrets back in the place of their marks.
    pub(crate) fn restore(&self, body: &str, text: &str) -> Result<String, Unresolved> {
        let mut restored = String::with_capacity(text.len());
        let mut at = 0;
        for found in MARK.find_iter(text) {
            let mut secrets =
                self.marks.iter().filter(|(mark, _)| mark == found.as_str()).map(|(_, range)| &body[range.clone()]);
            let Some(secret) = secrets.next() else { continue };
            // Two secrets with one mark: nobody can say which is meant.
            if secrets.any(|other| other != secret) {
                return Err(Unresolved { mark: found.as_str().to_owned(), has_id: true });
            }
            restored.push_str(&text[at..found.start()]);
            restored.push_str(secret);
            at = found.end();
        }
        restored.push_str(&text[at..]);
        Ok(restored)
    }

    /// Whether this is a mark of redaction, and not a text that only begins like one.
    fn is_mark(&self, found: &regex::Captures<'_>) -> bool {
        found.get(2).is_some() || self.kinds.contains(&found[1])
    }
}

/// The first mark in a text that stands for something of these kinds.
pub(crate) fn first_mark<'t>(redactor: &Redactor, text: &'t str) -> Option<&'t str> {
    if !text.contains(BEGIN) {
        return None;
    }
    let is_mark =
        |found: &regex::Captures<'_>| found.get(2).is_some() || redactor.kinds().any(|kind| **kind == found[1]);
    MARK.captures_iter(text).find(is_mark).and_then(|found| Some(found.get(0)?.as_str()))
}

/// The parts of a range that lie in one line each.
fn lines(body: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = range.start;
    for line in body[range.clone()].split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        if !text.is_empty() {
            parts.push(at..at + text.len());
        }
        at += line.len();
    }
    parts
}

/// The id of a mark: six letters and digits that cannot be mistaken for each other.
fn id(bound_to: [&[u8]; 2], kind: &str, value: &str, nth: u32) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut hasher = blake3::Hasher::new_keyed(&KEY);
    for part in bound_to.into_iter().chain([kind.as_bytes(), value.as_bytes(), &nth.to_le_bytes()]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let hash = hasher.finalize();
    hash.as_bytes().iter().take(6).map(|byte| char::from(LETTERS[usize::from(*byte) % 32])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name: x\r\napi_key: \"test-abcdef0123456789\"\r\nother_key: \"test-abcdef0123456789\"\r\n";

    fn hidden(session: &str, file: &str, body: &str) -> HiddenFile {
        Marks::new(&Redaction::default()).hide(session, Path::new(file), body)
    }

    #[test]
    fn what_is_hidden_comes_back_byte_for_byte() {
        let pem = "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\nb\n";
        for body in [FILE, pem, "PGPASSWORD=hunter2 DB_PWD=hunter2 psql\n", "nothing to hide\n", ""] {
            let file = hidden("s", "/a", body);
            assert_eq!(file.restore(body, &file.text).expect("known marks"), body);
            assert_eq!(file.text.lines().count(), body.lines().count(), "{}", file.text);
            for secret in ["abcdef0123456789", "MIIEvQ", "hunter2"] {
                assert!(!file.text.contains(secret), "{}", file.text);
                assert!(!file.without_secrets().unwrap_or_default().contains(secret));
            }
        }
    }

    #[test]
    fn a_mark_is_bound_to_its_session_its_file_and_its_place() {
        let file = hidden("s", "/a", FILE);
        let marks: HashSet<&str> = MARK.find_iter(&file.text).map(|mark| mark.as_str()).collect();
        assert_eq!(marks.len(), 2, "{}", file.text);
        for (session, path, body) in
            [("t", "/a", FILE), ("s", "/b", FILE), ("s", "/a", "api_key: \"test-zyxwvu9876543210\"")]
        {
            let other = hidden(session, path, body);
            assert!(marks.iter().all(|mark| other.check(body, mark).is_err()), "{session} {path}");
        }
        // The place is which of several equal secrets it is, and not the line.
        let moved = hidden("s", "/a", &format!("# a line more\n{FILE}"));
        assert!(marks.iter().all(|mark| moved.text.contains(mark)));
    }

    #[test]
    fn what_a_file_says_itself_is_no_mark_unless_it_may_stand_for_a_secret() {
        let says = "shows [REDACTED:secret] and [REDACTED:other]\n";
        let file = hidden("s", "/a", says);
        assert_eq!(file.check(says, says), Ok(()));
        assert!(file.check(says, "[REDACTED:email]").is_ok(), "this kind is not looked for");
        assert!(file.check(says, "[REDACTED:password]").is_err());
        let both = format!("{says}{FILE}");
        assert!(hidden("s", "/a", &both).check(&both, "[REDACTED:secret]").is_err());
    }
}
