//! The lines of a recording: how they are written, and how they are read.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra::{ModelError, ModelId, Request};

use super::{CassetteError, wording::Wording};

/// The version of the format.
const VERSION: u32 = 1;

/// How large a recording may be to be played.
const MAX_BYTES: u64 = 1 << 30;

/// The parts of a request that are written once.
const FOLDED: [&str; 3] = ["system_prompt", "tools", "messages"];

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Head { version: u32, model: ModelId },
    Part { number: usize, is: Value },
    Exchange(Exchange),
}

/// One request and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) request: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pieces: Vec<Piece>,
    pub(super) outcome: Outcome,
}

/// A piece of an answer, as a driver handed it over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
    Call { index: u32, tool: String, text: String },
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Response(Value),
    Error(Failure),
    /// Nobody waited for the end.
    Cancelled,
}

/// A [`ModelError`] in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    class: Class,
    pub(super) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Class {
    Busy,
    Rejected,
    TooLong,
    Unauthorised,
    Network,
    Broken,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let (class, message, wait) = match error {
            ModelError::Busy { message, wait } => (Class::Busy, message, wait),
            ModelError::Rejected { message } => (Class::Rejected, message, None),
            ModelError::TooLong { message } => (Class::TooLong, message, None),
            ModelError::Unauthorised { message } => (Class::Unauthorised, message, None),
            ModelError::Network { message } => (Class::Network, message, None),
            ModelError::Broken { message } => (Class::Broken, message, None),
            // A kind that a cassette cannot name.
            other => (Class::Broken, other.to_string(), None),
        };
        Self { class, message, wait }
    }
}

impl From<Failure> for ModelError {
    fn from(Failure { class, message, wait }: Failure) -> Self {
        match class {
            Class::Busy => Self::Busy { message, wait },
            Class::Rejected => Self::Rejected { message },
            Class::TooLong => Self::TooLong { message },
            Class::Unauthorised => Self::Unauthorised { message },
            Class::Network => Self::Network { message },
            Class::Broken => Self::Broken { message },
        }
    }
}

/// A request as far as a model reads it, in the words of a recording.
pub(super) fn asked(request: &Request, wording: &Wording) -> Value {
    let mut value = serde_json::to_value(request).unwrap_or_default();
    for message in value["messages"].as_array_mut().into_iter().flatten() {
        if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
            result.remove("duration_ms");
            result.remove("data");
        }
    }
    super::wording::in_value(&mut value, &|text| wording.written(text));
    value
}

/// A recording that is being written.
pub(super) struct Tape {
    path: PathBuf,
    /// None once a write has failed: whatever came after half a line could not be read.
    file: Option<File>,
    parts: HashMap<String, usize>,
}

impl Tape {
    /// A new file, for the eyes of its owner.
    pub(super) fn create(path: &Path, model: ModelId) -> Result<Self, CassetteError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = path.to_owned();
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(CassetteError::Exists { path }),
            Err(source) => return Err(CassetteError::File { path, source }),
        };
        let mut tape = Self { path, file: Some(file), parts: HashMap::new() };
        tape.write(&[Line::Head { version: VERSION, model }])?;
        Ok(tape)
    }

    /// Adds an exchange. It is in the file when this returns.
    pub(super) fn add(&mut self, mut exchange: Exchange) -> Result<(), CassetteError> {
        let mut lines = Vec::new();
        for name in FOLDED {
            match &mut exchange.request[name] {
                Value::Array(items) if name == "messages" => {
                    for item in items {
                        self.fold(item, &mut lines);
                    }
                }
                whole => self.fold(whole, &mut lines),
            }
        }
        lines.push(Line::Exchange(exchange));
        self.write(&lines)
    }

    fn fold(&mut self, value: &mut Value, lines: &mut Vec<Line>) {
        let next = self.parts.len();
        let number = *self.parts.entry(value.to_string()).or_insert(next);
        let is = std::mem::replace(value, json!(number));
        if number == next {
            lines.push(Line::Part { number, is });
        }
    }

    /// One write for all the lines, made at once: a crash leaves all of them or a broken end.
    fn write(&mut self, lines: &[Line]) -> Result<(), CassetteError> {
        let file = self.file.take();
        let written = file.ok_or_else(|| io::Error::other("an earlier write failed")).and_then(|mut file| {
            let mut text = String::new();
            for line in lines {
                text.push_str(&serde_json::to_string(line)?);
                text.push('\n');
            }
            file.write_all(text.as_bytes())?;
            file.flush()?;
            Ok(file)
        });
        self.file = Some(written.map_err(|source| CassetteError::File { path: self.path.clone(), source })?);
        Ok(())
    }
}

/// What a file holds.
pub(super) struct Recording {
    pub(super) model: ModelId,
    pub(super) parts: Vec<Value>,
    /// Each with its line. Their requests are folded: a conversation in memory is no longer than in the file.
    pub(super) exchanges: Vec<(usize, Exchange)>,
}

/// Reads a recording.
pub(super) fn read(path: &Path) -> Result<Recording, CassetteError> {
    let file = |source| CassetteError::File { path: path.to_owned(), source };
    let wrong = |line, message: String| CassetteError::Line { path: path.to_owned(), line, message };
    let mut reader = BufReader::new(File::open(path).map_err(file)?.take(MAX_BYTES));
    let (mut model, mut parts, mut exchanges) = (None, Vec::new(), Vec::new());
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(file)? == 0 {
            break;
        }
        if reader.get_ref().limit() == 0 {
            return Err(wrong(line, format!("a recording of more than {MAX_BYTES} bytes is not played")));
        }
        if text.last() != Some(&b'\n') {
            return Err(wrong(line, "the last line breaks off; cut it away to play what is before it".to_owned()));
        }
        let read =
            serde_json::from_slice(&text).map_err(|error| wrong(line, format!("no line of a recording: {error}")));
        match (read?, &model) {
            (Line::Head { version: VERSION, model: whose }, None) => model = Some(whose),
            (Line::Head { version, .. }, None) => {
                return Err(wrong(line, format!("a recording of version {version}; this program plays {VERSION}")));
            }
            (Line::Head { .. }, Some(_)) => return Err(wrong(line, "a second head".to_owned())),
            (Line::Part { .. } | Line::Exchange(_), None) => {
                return Err(wrong(line, "a recording begins with its head".to_owned()));
            }
            (Line::Part { number, is }, Some(_)) if number == parts.len() => parts.push(is),
            (Line::Part { number, .. }, Some(_)) => {
                return Err(wrong(line, format!("part {number} where part {} is due", parts.len())));
            }
            (Line::Exchange(exchange), Some(_)) => {
                check(&exchange.request, &parts).map_err(|message| wrong(line, message))?;
                exchanges.push((line, exchange));
            }
        }
    }
    let model = model.ok_or_else(|| wrong(1, "the file is empty; a recording begins with its head".to_owned()))?;
    Ok(Recording { model, parts, exchanges })
}

/// The part that a number in a folded request stands for.
fn part<'p>(number: &Value, parts: &'p [Value]) -> Option<&'p Value> {
    parts.get(usize::try_from(number.as_u64()?).ok()?)
}

fn check(request: &Value, parts: &[Value]) -> Result<(), String> {
    for name in FOLDED {
        let numbers = match request.get(name) {
            Some(Value::Array(numbers)) => numbers,
            Some(number) => std::slice::from_ref(number),
            None => return Err(format!("a request without `{name}`")),
        };
        if let Some(missing) = numbers.iter().find(|number| part(number, parts).is_none()) {
            return Err(format!("there is no part {missing}"));
        }
    }
    Ok(())
}

/// Whether a folded request is this one.
pub(super) fn is(folded: &Value, parts: &[Value], asked: &Value) -> bool {
    let (Some(folded), Some(asked)) = (folded.as_object(), asked.as_object()) else { return false };
    let same = |name: &String, folded: &Value, asked: &Value| match (folded, asked) {
        _ if !FOLDED.contains(&name.as_str()) => folded == asked,
        (Value::Array(numbers), Value::Array(items)) => {
            let parts = numbers.iter().map(|number| part(number, parts));
            numbers.len() == items.len() && parts.eq(items.iter().map(Some))
        }
        (number, whole) => part(number, parts) == Some(whole),
    };
    folded.len() == asked.len()
        && folded.iter().all(|(name, folded)| asked.get(name).is_some_and(|asked| same(name, folded, asked)))
}

/// A folded request as it was asked.
pub(super) fn unfolded(mut request: Value, parts: &[Value]) -> Value {
    let unfold = |number: &mut Value| *number = part(number, parts).cloned().unwrap_or_default();
    for name in FOLDED {
        match &mut request[name] {
            Value::Array(numbers) => numbers.iter_mut().for_each(unfold),
            number => unfold(number),
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaves = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaves.prop_recursive(3, 24, 4, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let fields = prop::collection::btree_map(any::<String>(), inner, 0..4);
            prop_oneof![list, fields.prop_map(|fields| Value::Object(fields.into_iter().collect()))]
        })
    }

    fn exchanges() -> impl Strategy<Value = Exchange> {
        let messages = prop::collection::vec(values(), 0..4);
        (values(), values(), messages, values(), any::<String>()).prop_map(|(prompt, tools, messages, answer, text)| {
            Exchange {
                request: json!({ "system_prompt": prompt, "tools": tools, "messages": messages, "options": answer }),
                pieces: vec![Piece::Text(text.clone()), Piece::Call { index: 1, tool: text.clone(), text }],
                outcome: Outcome::Response(answer),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever was said reads as it was written, to the last digit, however often its parts come again.
        #[test]
        fn what_is_written_is_what_is_read(said in prop::collection::vec(exchanges(), 0..4)) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("tape");
            let mut tape = Tape::create(&path, ModelId::new("p", "m")).expect("a tape");
            let said = [said.clone(), said].concat();
            for exchange in &said {
                tape.add(exchange.clone()).expect("a line");
            }
            let Recording { parts, exchanges, .. } = read(&path).expect("a recording");
            prop_assert_eq!(exchanges.len(), said.len());
            for ((_, folded), said) in exchanges.into_iter().zip(said) {
                prop_assert!(is(&folded.request, &parts, &said.request));
                let request = unfolded(folded.request.clone(), &parts);
                prop_assert_eq!(Exchange { request, ..folded }, said);
            }
        }
    }
}
