//! `read_file`: a page of a text file, with line numbers.

use std::io::{BufReader, Read as _};

use schemars::JsonSchema;
use serde::Deserialize;
use vertebra::{ToolError, ToolOutput};

use super::{
    access::{Job, Target, fingerprint, not_text},
    page::{Next, Page, Wanted, page},
    root::May,
    seen,
    text::{HEAD, NotText, Text, kind_of},
};

/// A page has room for a line of some length.
const MIN_BYTES: usize = 256;

/// What is said of a file that is not Unicode.
const LEGACY: &str = "[not UTF-8: shown as Windows-1252 (Latin-1), and written back so]\n";

/// The arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The file.
    path: String,
    /// The line to begin with; the first is 0.
    #[serde(default)]
    offset: usize,
    /// How many lines, 2000 unless said otherwise.
    limit: Option<usize>,
    /// How many bytes, 49152 unless said otherwise.
    max_bytes: Option<usize>,
    /// Where in the first line to begin, in bytes: to read on in a very long line.
    #[serde(default)]
    column: usize,
}

pub(super) fn read_file(job: &Job, input: &ReadFile) -> Result<ToolOutput, ToolError> {
    let bounds = job.bounds();
    let wanted = Wanted {
        offset: input.offset,
        lines: input.limit.unwrap_or(bounds.read_lines).min(bounds.max_read_lines).max(1),
        column: input.column,
        bytes: input.max_bytes.unwrap_or(bounds.output_bytes).min(bounds.max_output_bytes).max(MIN_BYTES),
    };
    let target = job.target(&input.path)?;
    let order = job.access.writes.next();
    let (file, facts) = target.open(job)?;
    let Target { root, place, .. } = &target;
    let failed = |error| place.failed("read", error);
    let (page, size, seen, notice) = if facts.len() > bounds.file_bytes {
        let mut reader = BufReader::with_capacity(64 * 1024, job.effort.reading(file));
        let mut head = Vec::new();
        reader.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
        if let Some(kind) = kind_of(&head) {
            return Err(not_text(place, NotText::Binary(kind), facts.len()));
        }
        let page = page(BufReader::new(head.chain(reader)), wanted).map_err(failed)?;
        (page, Size::Bytes(facts.len()), None, "[too large to be changed]\n")
    } else {
        let bytes = job.read_whole(file, place)?;
        let text = Text::decode(&bytes).map_err(|binary| not_text(place, binary, bytes.len() as u64))?;
        let shown = job.hidden(&target.real(), &text.body);
        let page = page(shown.text.as_bytes(), wanted).map_err(failed)?;
        let notice = if text.is_legacy() { LEGACY } else { "" };
        (page, Size::Lines(text.body.lines().count()), Some(fingerprint(&shown, &bytes)), notice)
    };
    let text = match page.behind {
        Some(0) if wanted.offset == 0 => "(empty file)".to_owned(),
        Some(lines) => {
            return Err(place.says(&format!("has {lines} lines: offset {} is behind its end", wanted.offset)));
        }
        None => format!("{}{notice}{}", page.text, on(&page, wanted, size)),
    };
    let path = job.key(&target);
    let data =
        seen.filter(|_| root.may() == May::Write).map(|hash| seen::data(&path, &hash, order)).unwrap_or_default();
    Ok(ToolOutput { text, data, exit_code: None })
}

/// Finds out whether a person has to be asked.
pub(super) fn look(job: &Job, input: &ReadFile) -> Result<Option<String>, ToolError> {
    job.target(&input.path).map(|_| None)
}

/// How large a file is, as far as that is known.
#[derive(Clone, Copy)]
enum Size {
    Lines(usize),
    Bytes(u64),
}

/// How to read on.
fn on(page: &Page, wanted: Wanted, size: Size) -> String {
    let (first, last) = (wanted.offset + 1, wanted.offset + page.lines);
    let of = match size {
        Size::Lines(lines) => format!("{lines}"),
        Size::Bytes(bytes) => format!("a file of {bytes} bytes"),
    };
    match page.next {
        Next::End => String::new(),
        Next::Line(line) => format!("[lines {first}-{last} of {of}; read on with offset={line}]\n"),
        Next::Column { line, column, left } => format!(
            "[{left} more bytes of line {first} of {of}; read on with offset={line} column={column}, \
             or with offset={} after it]\n",
            line + 1
        ),
    }
}
