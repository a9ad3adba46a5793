//! A guard in this process that refuses every call, with an answer that names it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, bail};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use vertebra_server::proto::{
    Answer, ClientFrame, Hello, Hook, Register, Role, answer::Answer as Said, client_frame::Frame,
    hooks_client::HooksClient, server_frame,
};

use crate::server::{Served, admitted};

/// The name of the guard.
pub(crate) const NAME: &str = "bench";

/// A guard that stands until it is dropped.
pub(crate) struct Guard {
    answered: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a call of a session is refused with.
pub(crate) fn answer(session_id: &str, call_id: &str) -> String {
    format!("no to {call_id} of {session_id}")
}

impl Guard {
    /// How many events it has answered.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Puts a guard in force for all sessions of the same owner.
    pub(crate) async fn stand(server: &Served) -> anyhow::Result<Self> {
        let (out, frames) = mpsc::channel(4096);
        let send = |frame| ClientFrame { frame: Some(frame) };
        out.send(send(Frame::Hello(Hello { client_id: "bench".to_owned(), agent: "bench".to_owned() }))).await?;
        let frames = stream::unfold(frames, async |mut frames| Some((frames.recv().await?, frames)));
        let mut hooks = HooksClient::new(server.channel().await?);
        let mut told = hooks.attach(admitted(frames)).await?.into_inner();
        let hook = Hook {
            name: NAME.to_owned(),
            point: "BeforeToolUse".to_owned(),
            role: Role::Guard.into(),
            ..Hook::default()
        };
        out.send(send(Frame::Register(Register { request: 1, hook: Some(hook), scope: None }))).await?;
        loop {
            match told.message().await?.context("the server hangs up")?.frame {
                Some(server_frame::Frame::Registered(done)) if done.error.is_empty() => break,
                Some(server_frame::Frame::Registered(done)) => bail!("{}", done.error),
                _ => {}
            }
        }
        let answered = Arc::new(AtomicUsize::new(0));
        let count = answered.clone();
        let task = tokio::spawn(async move {
            while let Ok(Some(frame)) = told.message().await {
                let Some(server_frame::Frame::Event(event)) = frame.frame else { continue };
                let seen: Value = serde_json::from_str(&event.json).unwrap_or_default();
                let text = |key: &str| seen[key].as_str().unwrap_or_default();
                let reason = answer(text("session_id"), text("call_id"));
                let said = json!({ "verdict": "deny", "reason": reason }).to_string();
                let answer = Answer { id: event.id, answer: Some(Said::Json(said)) };
                count.fetch_add(1, Ordering::Relaxed);
                if out.send(send(Frame::Answer(answer))).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self { answered, task })
    }
}
