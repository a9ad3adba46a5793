//! Who is known, and by what: a file with a token on each line, or with a table for each client.

use std::{ops::Range, path::Path, sync::Arc};

use toml_edit::{Document, Item, Table};

use super::{
    Governs, Principal,
    file::{FileError, Secrecy, read_guarded},
};

/// How long a token is.
const TOKEN: Range<usize> = 16..1025;

/// How long the name of a client may be.
const LONGEST_NAME: usize = 64;

/// What a table of a client begins with.
const TABLE: &str = "[[client]]";

/// Who is known. Of tokens only hashes are kept; all are compared, each in the same time.
#[derive(Debug, Clone, Default)]
pub struct Known {
    tokens: Vec<(blake3::Hash, Principal)>,
    certificates: Vec<(String, Principal)>,
}

/// Why a file does not say who is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownError {
    /// It cannot be used as it is.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something in it is not what it has to be. What it is may be a secret.
    #[error("{place}, line {line}: {message}")]
    Line {
        /// The file.
        place: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

impl Known {
    /// One token, for whoever has it: it governs everything.
    pub fn one(token: &str) -> Self {
        Self { tokens: vec![(blake3::hash(token.trim().as_bytes()), whoever())], ..Self::default() }
    }

    /// Reads a file that nobody but its owner can write, and nobody else can read.
    pub fn read(path: &Path) -> Result<Self, KnownError> {
        let text = read_guarded(path, Secrecy::Secret)?;
        let wrong = |(line, message)| KnownError::Line { place: path.display().to_string(), line, message };
        parse(&text).map_err(wrong)
    }

    /// Whether a token is known. If none is, nobody comes in by one.
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    pub(super) fn by_token(&self, token: &str) -> Option<&Principal> {
        let given = blake3::hash(token.as_bytes());
        // All of them: how long it takes says nothing of which it was. Equality of hashes takes the same time always.
        self.tokens.iter().fold(None, |found, (hash, principal)| if *hash == given { Some(principal) } else { found })
    }

    pub(super) fn by_certificate(&self, name: &str) -> Option<&Principal> {
        self.certificates.iter().find(|(listed, _)| listed == name).map(|(_, principal)| principal)
    }

    fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.tokens.iter().map(|(_, who)| who).chain(self.certificates.iter().map(|(_, who)| who))
    }

    fn add_token(&mut self, hash: blake3::Hash, who: Principal) -> Result<(), String> {
        if self.tokens.iter().any(|(other, _)| *other == hash) {
            return Err("this token is there already: each opens for one client".to_owned());
        }
        self.tokens.push((hash, who));
        Ok(())
    }
}

/// Whoever has a token without a name.
fn whoever() -> Principal {
    Principal { name: "token".into(), governs: Governs::Everything }
}

/// What is wrong, and in which line.
type Wrong = (usize, String);

fn parse(text: &str) -> Result<Known, Wrong> {
    let known = if text.lines().any(|line| line.trim().starts_with(TABLE)) { tables(text) } else { lines(text) }?;
    if known.tokens.is_empty() && known.certificates.is_empty() {
        return Err((1, "it opens for nobody: write a token, such as `openssl rand -hex 32` prints".to_owned()));
    }
    Ok(known)
}

fn lines(text: &str) -> Result<Known, Wrong> {
    let mut known = Known::default();
    for (number, line) in (1..).zip(text.lines()) {
        let token = line.trim();
        if !token.is_empty() && !token.starts_with('#') {
            let hash = hash_of(token).map_err(|message| (number, message))?;
            known.add_token(hash, whoever()).map_err(|message| (number, message))?;
        }
    }
    Ok(known)
}

fn hash_of(token: &str) -> Result<blake3::Hash, String> {
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("a token has no blanks and only plain letters; named clients begin with `{TABLE}`"));
    }
    if !TOKEN.contains(&token.len()) {
        let (least, most) = (TOKEN.start, TOKEN.end - 1);
        return Err(format!("a token has {least} to {most} letters, and this one has {}", token.len()));
    }
    Ok(blake3::hash(token.as_bytes()))
}

fn tables(text: &str) -> Result<Known, Wrong> {
    let line = |span: Option<Range<usize>>| {
        let before = text.get(..span.map_or(0, |span| span.start)).unwrap_or_default();
        before.matches('\n').count() + 1
    };
    // Its own message shows what stands there, which may be a token.
    let document = Document::parse(text).map_err(|error| (line(error.span()), error.message().to_owned()))?;
    let mut known = Known::default();
    for (key, item) in document.iter() {
        let Some(clients) = item.as_array_of_tables().filter(|_| key == "client") else {
            return Err((line(item.span()), format!("`{key}` means nothing here: clients begin with `{TABLE}`")));
        };
        for client in clients {
            add(&mut known, client).map_err(|(span, message)| (line(span.or_else(|| client.span())), message))?;
        }
    }
    Ok(known)
}

/// What is wrong, and where; nowhere is at the head of the table.
type WrongAt = (Option<Range<usize>>, String);

fn add(known: &mut Known, client: &Table) -> Result<(), WrongAt> {
    let (mut name, mut governs, mut by) = (None, Governs::Own, None);
    for (key, item) in client {
        let wrong = |message: String| (item.span(), message);
        let text = item.as_str().ok_or_else(|| wrong(format!("`{key}` is a text")))?;
        match key {
            "name" => name = Some(checked_name(text).map_err(wrong)?),
            "governs" => governs = governed(text).map_err(wrong)?,
            "token" | "token_hash" | "certificate" if by.is_some() => {
                return Err(wrong(format!(
                    "one of `token`, `token_hash` and `certificate`, in a `{TABLE}` of its own"
                )));
            }
            "token" | "token_hash" | "certificate" => by = Some((key, text, item)),
            other => return Err(wrong(format!("`{other}` is none of {KEYS}"))),
        }
    }
    let name = name.ok_or((None, "a client has a name: write `name = \"ci\"`".to_owned()))?;
    let (key, text, item) = by.ok_or((None, format!("`{name}` is known by nothing: write `token = \"…\"`")))?;
    let who = Principal { name, governs };
    if let Some(other) = known.principals().find(|other| other.name == who.name && other.governs != who.governs) {
        return Err((None, format!("`{other}` governs something else further up: one name is one principal")));
    }
    let wrong = |message: String| (item.span(), message);
    match key {
        "token" => known.add_token(hash_of(text).map_err(wrong)?, who).map_err(wrong),
        "token_hash" => known.add_token(hash(text, item)?, who).map_err(wrong),
        _ => {
            known.certificates.push((text.to_owned(), who));
            Ok(())
        }
    }
}

const KEYS: &str = "`name`, `token`, `token_hash`, `certificate` and `governs`";

fn hash(text: &str, item: &Item) -> Result<blake3::Hash, WrongAt> {
    blake3::Hash::from_hex(text)
        .map_err(|_| (item.span(), "`token_hash` is what `b3sum` prints of a token: 64 hexadecimal digits".to_owned()))
}

/// A blank is in the names that are not given here: `user 1000`.
fn checked_name(name: &str) -> Result<Arc<str>, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
        return Err(format!("`name` has 1 to {LONGEST_NAME} letters, digits, `.`, `_`, `@` and `-`"));
    }
    Ok(name.into())
}

fn governed(text: &str) -> Result<Governs, String> {
    match text {
        "own" => Ok(Governs::Own),
        "everything" => Ok(Governs::Everything),
        _ => Err("`governs` is \"own\" or \"everything\"".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    const LONG: &str = "0123456789abcdef";

    fn who(known: &Known, token: &str) -> Option<(String, Governs)> {
        known.by_token(token).map(|who| (who.name.to_string(), who.governs))
    }

    #[test]
    fn a_token_on_a_line_governs_everything_and_two_are_one_principal() {
        let known = parse(&format!("# ours\n{LONG}1\n\n  {LONG}2  \n")).expect("two tokens");
        for token in ["1", "2"] {
            assert_eq!(who(&known, &format!("{LONG}{token}")), Some(("token".to_owned(), Governs::Everything)));
        }
        assert_eq!(who(&known, LONG), None);
        assert_eq!(who(&known, ""), None);
    }

    #[test]
    fn a_table_names_a_client_and_says_what_it_governs() {
        let hash = blake3::hash(b"the other one, hashed").to_hex();
        let known = parse(&format!(
            "[[client]]\nname = \"ci\"\ntoken = \"{LONG}\"\n\n[[client]]\nname = \"ops\"\ntoken_hash = \"{hash}\"\n\
             governs = \"everything\"\n\n[[client]]\nname = \"ops\"\ncertificate = \"ops.example\"\ngoverns = \"everything\"\n"
        ))
        .expect("three ways in");
        assert_eq!(who(&known, LONG), Some(("ci".to_owned(), Governs::Own)));
        assert_eq!(who(&known, "the other one, hashed"), Some(("ops".to_owned(), Governs::Everything)));
        assert_eq!(known.by_certificate("ops.example").map(|who| &*who.name), Some("ops"));
        assert_eq!(known.by_certificate("ops.example.com"), None);
    }

    #[test]
    fn what_is_wrong_names_the_line_and_never_shows_a_token() {
        let told = |text: &str| {
            let (line, message) = parse(text).expect_err("something is wrong");
            format!("{line}: {message}")
        };
        let cases = [
            ("", "1: it opens for nobody"),
            ("\nshort", "2: a token has 16 to 1024 letters, and this one has 5"),
            ("token = \"0123456789abcdef\"", "1: a token has no blanks"),
            ("0123456789abcdef\n0123456789abcdef", "2: this token is there already"),
            ("[[client]]\nname = \"a b\"", "2: `name` has 1 to 64"),
            ("[[client]]\nname = \"ci\"", "1: `ci` is known by nothing"),
            ("[[client]]\ntoken = \"0123456789abcdef\"", "1: a client has a name"),
            ("[[client]]\nname = \"ci\"\ntoken = \"secret\"", "3: a token has 16 to 1024"),
            ("[[client]]\nname = \"ci\"\ntoken_hash = \"secret\"", "3: `token_hash` is what `b3sum` prints"),
            ("[[client]]\nname = \"ci\"\ngoverns = \"all\"", "3: `governs` is \"own\" or \"everything\""),
            ("[[client]]\nname = \"ci\"\nrole = \"secret\"", "3: `role` is none of"),
            ("[[client]]\nname = \"ci\"\ntoken = secret", "3: "),
            ("x = 1\n[[client]]\nname = \"ci\"", "1: `x` means nothing here"),
            (
                "[[client]]\nname = \"ci\"\ntoken = \"0123456789abcdef\"\n\
                 [[client]]\nname = \"ci\"\ntoken = \"0123456789abcdeg\"\ngoverns = \"everything\"",
                "4: `ci` governs something else further up",
            ),
        ];
        for (text, expected) in cases {
            let told = told(text);
            assert!(told.starts_with(expected), "{text:?}: {told}");
            assert!(!told.contains("secret") && !told.contains("0123"), "{told}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_or_write_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        fs::write(&path, LONG).expect("it is written");
        for (mode, said) in [
            (0o600, None),
            (0o640, None),
            (0o400, None),
            (0o644, Some("others may read it: `chmod 640")),
            (0o620, Some("others may write it: `chmod 600")),
            (0o602, Some("others may write it: `chmod 600")),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is mine");
            let told = Known::read(&path).err().map(|error| error.to_string());
            match said {
                None => assert_eq!(told, None, "{mode:o}"),
                Some(said) => assert!(told.as_ref().is_some_and(|told| told.contains(said)), "{mode:o}: {told:?}"),
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is mine");
        fs::write(&path, format!("{LONG}\n{}", "#".repeat(1 << 20))).expect("it is written");
        let told = Known::read(&path).expect_err("it is too long").to_string();
        assert!(told.contains("more than 1048576 bytes"), "{told}");
        let told = Known::read(folder.path()).expect_err("this is a folder").to_string();
        assert!(told.contains("this is not a file"), "{told}");
    }
}
