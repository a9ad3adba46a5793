//! One life of a worker: a process, who waits for it, and how it ended.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use vertebra_kit::process::{Resident, Said};

use crate::handler::process::{MAX_OUTPUT, Program};

/// How many events may wait to be written.
const QUEUED: usize = 64;

/// How long a worker may take to end by itself once its input is closed.
const FAREWELL: Duration = Duration::from_millis(200);

/// A worker. With the last clone of this its input is closed, and a moment later it is ended.
#[derive(Clone)]
pub(super) struct Link {
    shared: Arc<Shared>,
    said: Said,
    lines: mpsc::Sender<Vec<u8>>,
    kill: mpsc::Sender<String>,
}

#[derive(Default)]
struct Shared(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    next_id: u64,
    answers: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<String, String>>>,
    died: Option<Instant>,
}

impl Link {
    /// Starts the program.
    pub(super) fn start(program: &Program) -> Result<Self, String> {
        let (process, output, input) = program.stay()?;
        let (lines, to_write) = mpsc::channel(QUEUED);
        let (kill, killed) = mpsc::channel(1);
        let link = Self { shared: Arc::default(), said: process.said(), lines, kill };
        tokio::spawn(write(input, to_write));
        tokio::spawn(live(process, output, killed, link.shared.clone()));
        Ok(link)
    }

    /// Puts an event to it, and waits for the answer to that. Dropped, the answer is not waited for any more.
    pub(super) async fn ask(&self, mut event: Value) -> Result<String, String> {
        let (id, answer) = self.shared.expect().ok_or("the worker has ended")?;
        let _forget = Forget { shared: &self.shared, id };
        event["id"] = id.into();
        let line = format!("{event}\n").into_bytes();
        // If nobody writes any more, the process has ended, and who waits is told so.
        _ = self.lines.send(line).await;
        answer.await.unwrap_or_else(|_| Err("the worker has ended".to_owned()))
    }

    /// When it died.
    pub(super) fn died(&self) -> Option<Instant> {
        self.shared.lock().died
    }

    /// How many answers it has given.
    pub(super) fn answers(&self) -> u64 {
        self.shared.lock().answers
    }

    /// Ends it, for this reason.
    pub(super) fn kill(&self, why: String) {
        // If the place is taken, somebody else has just said so.
        _ = self.kill.try_send(why);
    }

    /// The end of what it has said to its error output.
    pub(super) fn said(&self) -> String {
        self.said.text()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new number, and what will come under it.
    fn expect(&self) -> Option<(u64, oneshot::Receiver<Result<String, String>>)> {
        let mut inner = self.lock();
        if inner.died.is_some() {
            return None;
        }
        let id = inner.next_id;
        inner.next_id += 1;
        let (tell, answer) = oneshot::channel();
        inner.waiting.insert(id, tell);
        Some((id, answer))
    }

    /// Hands an answer to whoever waits for it. One that comes too late is nobody's.
    fn take(&self, line: &[u8]) -> Result<(), String> {
        let wrong = |what: &str| format!("the worker wrote {what}, and was ended");
        let answer: Value = serde_json::from_slice(line).map_err(|_| wrong("a line that is not JSON"))?;
        let Value::Object(mut answer) = answer else { return Err(wrong("a line that is not a JSON object")) };
        let id = answer.remove("id").and_then(|id| id.as_u64());
        let mut inner = self.lock();
        let id =
            id.filter(|id| *id < inner.next_id).ok_or_else(|| wrong("an answer with no `id` that it was given"))?;
        inner.answers += 1;
        if let Some(waiting) = inner.waiting.remove(&id) {
            _ = waiting.send(Ok(Value::Object(answer).to_string()));
        }
        Ok(())
    }
}

/// Whoever is no longer waiting is forgotten.
struct Forget<'s> {
    shared: &'s Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.lock().waiting.remove(&self.id);
    }
}

/// Writes what is queued, and closes the input when nobody can queue any more.
async fn write(mut input: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(&line).await.is_err() {
            break;
        }
    }
}

/// Reads answers until the process ends, breaks the rules, or is not needed any more.
async fn live(process: Resident, output: ChildStdout, mut killed: mpsc::Receiver<String>, shared: Arc<Shared>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    let why = loop {
        tokio::select! {
            // Begun anew only after a whole line, so nothing of it is lost.
            why = next(&mut output, &mut line) => match why.and_then(|()| shared.take(&line)) {
                Ok(()) => line.clear(),
                Err(why) => break why,
            },
            why = killed.recv() => {
                if let Some(why) = why {
                    break why;
                }
                _ = timeout(FAREWELL, tokio::io::copy(&mut output, &mut tokio::io::sink())).await;
                return;
            }
        }
    };
    shared.lock().died = Some(Instant::now());
    let (how, said) = process.last_words().await;
    let told = match said.trim() {
        "" => format!("{why} ({how}; it wrote no errors)"),
        said => format!("{why} ({how}; it wrote: {said})"),
    };
    for (_, waiting) in shared.lock().waiting.drain() {
        _ = waiting.send(Err(told.clone()));
    }
}

/// The next line, up to the length that an answer may have.
async fn next(output: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Result<(), String> {
    let one_more = MAX_OUTPUT as u64 + 1;
    _ = output.take(one_more).read_until(b'\n', line).await;
    match line.last() {
        Some(b'\n') => Ok(()),
        Some(_) if line.len() > MAX_OUTPUT => {
            Err(format!("the worker wrote a line of more than {MAX_OUTPUT} bytes, and was ended"))
        }
        _ => Err("the worker ended".to_owned()),
    }
}
