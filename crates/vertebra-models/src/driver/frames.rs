//! Bytes of an answer, cut anywhere, as whole events.

use vertebra::ModelError;

use super::failure::broken;

/// How a provider parts its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Server-sent events.
    Events,
    /// One JSON document a line.
    Lines,
    /// The binary frames of Amazon, which are passed on as they are.
    Raw,
}

impl Format {
    pub(super) fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/stream+json" => {
                Self::Lines
            }
            "application/vnd.amazon.eventstream" => Self::Raw,
            // Not every server says that this is what it sends.
            _ => Self::Events,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
            Self::Raw => "application/octet-stream",
        }
    }
}

/// One whole event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) event: Option<String>,
    pub(super) data: String,
}

impl Frame {
    /// The event as it is passed on: with plain line ends and nothing else.
    pub(super) fn encode(&self, format: Format) -> String {
        match format {
            Format::Events => {
                let event = self.event.iter().map(|event| format!("event: {event}\n"));
                event
                    .chain(self.data.split('\n').map(|line| format!("data: {line}\n")))
                    .chain(["\n".to_owned()])
                    .collect()
            }
            Format::Lines | Format::Raw => format!("{}\n", self.data),
        }
    }
}

/// Puts events together.
pub(super) struct Frames {
    format: Format,
    limit: usize,
    line: Vec<u8>,
    after_return: bool,
    begun: bool,
    frame: Frame,
}

impl Frames {
    /// Events of at most `limit` bytes.
    pub(super) fn new(format: Format, limit: usize) -> Self {
        Self { format, limit, line: Vec::new(), after_return: false, begun: false, frame: Frame::default() }
    }

    /// Takes more bytes and hands out the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, ModelError> {
        let mut whole = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let line = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + self.frame.data.len() + line.len() > self.limit {
                return Err(broken(format!("an event of more than {} bytes", self.limit)));
            }
            self.line.extend_from_slice(line);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            whole.extend(self.end_line()?);
        }
        Ok(whole)
    }

    /// What is left at the end: a last event without the line that ends it.
    pub(super) fn end(mut self) -> Result<Option<Frame>, ModelError> {
        let last = if self.line.is_empty() { None } else { self.end_line()? };
        Ok(last.or_else(|| self.take()))
    }

    fn end_line(&mut self) -> Result<Option<Frame>, ModelError> {
        let line = String::from_utf8(std::mem::take(&mut self.line));
        let line = line.map_err(|_| broken("the answer is not UTF-8".to_owned()))?;
        let mark = if self.begun { None } else { line.strip_prefix('\u{feff}') };
        self.begun = true;
        let line = mark.unwrap_or(&line);
        if self.format == Format::Lines {
            let data = line.trim();
            return Ok((!data.is_empty()).then(|| Frame { event: None, data: data.to_owned() }));
        }
        if line.is_empty() {
            return Ok(self.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.frame.event = Some(value.to_owned()),
            "data" => {
                if !self.frame.data.is_empty() {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            // Comments, ids and times to wait are not for us.
            _ => {}
        }
        Ok(None)
    }

    /// An event without data is none.
    fn take(&mut self) -> Option<Frame> {
        Some(std::mem::take(&mut self.frame)).filter(|frame| !frame.data.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str =
        "\u{feff}: hello\r\nevent: a\r\ndata: {\"x\":\"é\"}\r\n\r\n\n\n:ping\rid: 7\rdata: 1\rdata:2\r\rdata: [DONE]";

    fn read(format: Format, pieces: &[&[u8]]) -> Result<Vec<Frame>, ModelError> {
        let mut frames = Frames::new(format, 64);
        let mut whole = Vec::new();
        for piece in pieces {
            whole.extend(frames.push(piece)?);
        }
        whole.extend(frames.end()?);
        Ok(whole)
    }

    fn frame(event: Option<&str>, data: &str) -> Frame {
        Frame { event: event.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let whole = [frame(Some("a"), "{\"x\":\"é\"}"), frame(None, "1\n2"), frame(None, "[DONE]")];
        for at in 0..=EVENTS.len() {
            let (first, second) = EVENTS.as_bytes().split_at(at);
            assert_eq!(read(Format::Events, &[first, second]).as_deref(), Ok(&whole[..]), "cut at {at}");
        }
        let bytes: Vec<&[u8]> = EVENTS.as_bytes().chunks(1).collect();
        assert_eq!(read(Format::Events, &bytes).as_deref(), Ok(&whole[..]));
    }

    #[test]
    fn lines_are_events_too() {
        let lines = read(Format::Lines, &[b"{}\n\r\n {\"done\":", b"true}"]);
        assert_eq!(lines.as_deref(), Ok(&[frame(None, "{}"), frame(None, "{\"done\":true}")][..]));
    }

    #[test]
    fn what_is_too_long_or_no_text_breaks_the_answer() {
        assert!(read(Format::Events, &[b"data: ", &[b'x'; 100]]).is_err());
        assert!(read(Format::Events, &[b"data: 0123456789\n".repeat(10).as_slice()]).is_err());
        assert!(read(Format::Events, &[b"data: \xff\xfe\n\n"]).is_err());
    }

    #[test]
    fn an_event_is_passed_on_as_it_was() {
        let frame = frame(Some("a"), "1\n2");
        assert_eq!(frame.encode(Format::Events), "event: a\ndata: 1\ndata: 2\n\n");
    }
}
