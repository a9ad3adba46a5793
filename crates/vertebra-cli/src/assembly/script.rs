//! `--model script:FILE`: a scripted model, with one turn per line of the file. It is for trying hooks and rules, and for
//! tests of the output.
//!
//! ```json
//! {"think": "First I look around.", "call": {"tool": "bash", "args": {"command": "ls"}}}
//! {"expect": "README.md", "stream": ["There is ", "a README."], "pause_ms": 50, "usage": {"input_tokens": 900}}
//! ```

use std::{
    io::Read as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use vertebra::{Args, Deltas, Halted, Model, ModelError, ModelId, Request, Response, ToolCall, Usage};

/// The largest script that is read.
const MAX_BYTES: u64 = 8 << 20;

/// How many characters of a call's arguments are streamed at once.
const PIECE: usize = 16;

/// A model that follows a script.
#[derive(Debug)]
pub(crate) struct Script {
    id: ModelId,
    /// The file, for messages.
    file: Arc<str>,
    turns: Vec<Turn>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Turn {
    line: usize,
    written: Written,
}

/// A turn as written in the script.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    /// Text that the request must contain; otherwise the turn fails.
    expect: Option<String>,
    /// The model that the request must name; otherwise the turn fails.
    expect_model: Option<String>,
    /// The pause before the first piece.
    wait_ms: u64,
    think: Option<String>,
    say: Option<String>,
    /// The text, in pieces.
    stream: Vec<String>,
    /// The pause between two pieces.
    pause_ms: u64,
    call: Option<Scripted>,
    calls: Vec<Scripted>,
    usage: Usage,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    tool: String,
    #[serde(default)]
    args: Args,
}

impl Script {
    /// Reads a script.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file: Arc<str> = path.display().to_string().into();
        let mut text = String::new();
        let opened = std::fs::File::open(path).with_context(|| format!("cannot open the script {file}"))?;
        let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.with_context(|| format!("cannot read the script {file}"))?;
        ensure!(text.len() as u64 <= MAX_BYTES, "the script {file} is larger than {MAX_BYTES} bytes");
        let name = path.file_stem().map_or_else(|| file.clone(), |name| name.to_string_lossy().as_ref().into());
        Ok(Self { id: ModelId::new("script", name), turns: turns(&file, &text)?, file, next: AtomicUsize::new(0) })
    }
}

fn turns(file: &str, text: &str) -> anyhow::Result<Vec<Turn>> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    let turns: Vec<Turn> = lines.map(|(line, text)| turn(file, line, text)).collect::<anyhow::Result<_>>()?;
    if turns.is_empty() {
        bail!("{file}: the script is empty; write one turn per line, such as {{\"say\": \"hello\"}}");
    }
    Ok(turns)
}

fn turn(file: &str, line: usize, text: &str) -> anyhow::Result<Turn> {
    let written: Written = serde_json::from_str(text).map_err(|error| {
        // Name the place once, in the form that editors understand.
        let (column, words) = (error.column(), error.to_string());
        let words = words.split(" at line ").next().unwrap_or_default();
        anyhow::anyhow!("{file}:{line}:{column}: {words}")
    })?;
    let Written { say, stream, call, calls, .. } = &written;
    if say.is_some() && !stream.is_empty() {
        bail!("{file}:{line}: use either `say` or `stream`, not both");
    }
    if call.is_some() && !calls.is_empty() {
        bail!("{file}:{line}: use either `call` or `calls`, not both");
    }
    if say.is_none() && stream.is_empty() && call.is_none() && calls.is_empty() {
        bail!("{file}:{line}: the turn is empty; write `say`, `stream`, `call` or `calls`");
    }
    Ok(Turn { line, written })
}

impl Model for Script {
    fn id(&self) -> ModelId {
        self.id.clone()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(Turn { line, written }) = self.turns.get(number) else {
            let message = format!("the script {} has no turn left: it has {}", self.file, self.turns.len());
            return Err(ModelError::Rejected { message });
        };
        if let Some(missing) = written.missing(request) {
            return Err(ModelError::Rejected { message: format!("{}:{line}: {missing}", self.file) });
        }
        tokio::time::sleep(Duration::from_millis(written.wait_ms)).await;
        let response = written.response(number);
        // The full response is returned even if a hook halts the stream.
        let _ = written.play(&response, out).await;
        Ok(response)
    }
}

impl Written {
    /// Returns what the turn expects and the request lacks.
    fn missing(&self, request: &Request) -> Option<String> {
        let has = |text: &String| request.messages.iter().any(|message| message.text().contains(text.as_str()));
        if let Some(text) = self.expect.as_ref().filter(|text| !has(text)) {
            return Some(format!("the conversation does not contain `{text}`"));
        }
        let name = &request.model.name;
        let other = self.expect_model.as_ref().filter(|expected| ***expected != **name)?;
        Some(format!("expected a request to model `{other}`, not `{name}`"))
    }

    fn response(&self, turn: usize) -> Response {
        let calls = self.call.iter().chain(&self.calls).zip(1..);
        let call = |(Scripted { tool, args }, number): (&Scripted, usize)| {
            ToolCall::new(format!("call-{turn}-{number}"), tool.as_str(), args.clone())
        };
        Response {
            text: self.say.clone().unwrap_or_else(|| self.stream.concat()),
            reasoning: self.think.clone().unwrap_or_default(),
            calls: calls.map(call).collect(),
            usage: self.usage,
            ..Response::default()
        }
    }

    async fn play(&self, response: &Response, out: &mut Deltas<'_>) -> Result<(), Halted> {
        if let Some(thought) = &self.think {
            out.reasoning(thought).await?;
        }
        for piece in self.say.iter().chain(&self.stream) {
            out.text(piece).await?;
            self.pause().await;
        }
        for (index, call) in (0..).zip(&response.calls) {
            let characters: Vec<char> = call.written().chars().collect();
            for piece in characters.chunks(PIECE) {
                out.call(index, &call.tool, &piece.iter().collect::<String>()).await?;
                self.pause().await;
            }
        }
        Ok(())
    }

    async fn pause(&self) {
        if self.pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.pause_ms)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use vertebra::{Agent, RunStatus};

    use super::*;

    fn script(text: &str) -> anyhow::Result<Script> {
        let file = tempfile::Builder::new().suffix(".jsonl").tempfile()?;
        std::fs::write(file.path(), text)?;
        Script::open(file.path())
    }

    #[test]
    fn a_mistake_is_reported_with_its_line_and_a_fix() {
        let cases = [
            ("", ": the script is empty; write one turn per line, such as {\"say\": \"hello\"}"),
            ("{\"say\": \"a\"}\n\n{\"sya\": \"b\"}", ":3:6: unknown field `sya`, expected one of `expect`"),
            ("{\"say\": 1}", ":1:9: invalid type: integer `1`, expected a string"),
            ("{}", ":1: the turn is empty; write `say`, `stream`, `call` or `calls`"),
            ("{\"say\": \"a\", \"stream\": [\"b\"]}", ":1: use either `say` or `stream`, not both"),
            ("{\"call\": {\"args\": {}}}", ":1:21: missing field `tool`"),
        ];
        for (text, expected) in cases {
            let error = script(text).expect_err(text).to_string();
            assert!(error.contains(".jsonl:") && error.contains(expected), "{error}");
        }
        let error = format!("{:#}", Script::open(Path::new("nowhere.jsonl")).expect_err("no file"));
        assert!(error.starts_with("cannot open the script nowhere.jsonl: "), "{error}");
    }

    #[tokio::test]
    async fn turns_are_played_in_order_and_check_their_requests() {
        let text = "{\"expect\": \"hello\", \"expect_model\": \"script\", \"stream\": [\"a\", \"b\"], \
                    \"usage\": {\"output_tokens\": 2}}\n";
        let script = Script { id: ModelId::new("script", "script"), ..script(text).expect("a script") };
        let agent = Agent::builder(script).build().expect("an agent");
        let report = agent.run("hello").await.expect("a run");
        assert_eq!((&*report.text, report.usage.output_tokens, report.status), ("ab", 2, RunStatus::Completed));
        let error = agent.run("hello").await.expect_err("no turn is left").to_string();
        assert!(error.contains("has no turn left: it has 1"), "{error}");
        let script = Script { next: AtomicUsize::new(0), ..self::script(text).expect("a script") };
        let error = Agent::builder(script).build().expect("an agent").run("bye").await.expect_err("not hello");
        assert!(error.to_string().contains(":1: the conversation does not contain `hello`"), "{error}");
    }
}
