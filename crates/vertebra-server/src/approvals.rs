//! Questions of agents, and whoever answers them.

use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::{broadcast, oneshot};
use tonic::{Request, Response, Status};
use vertebra::{Approval, Approver, Args, Decision};
use vertebra_journal::Store;

use crate::{
    Server,
    clients::to_json,
    door::{Principal, principal},
    lanes::Lane,
    proto::{
        self, AnswerApprovalRequest, AnswerApprovalResponse, ApprovalEvent, ListApprovalsRequest,
        ListApprovalsResponse, answer_approval_request, approval_event, approvals_server::Approvals,
    },
    sessions::service::failed,
};

/// How many pieces of news a slow watcher may be behind.
const BEHIND: usize = 1024;

/// The board that agents put their questions on: the approver of every agent of a server.
#[derive(Clone)]
pub struct Questions(Arc<Board>);

struct Board {
    open: Mutex<Open>,
    news: broadcast::Sender<ApprovalEvent>,
    /// Answers that were given while nobody waited.
    journal: Option<Store>,
}

#[derive(Default)]
struct Open {
    waiting: BTreeMap<Key, Waiting>,
    /// Whether every question is put off: the server goes down.
    put_off: bool,
}

/// The session and the call.
type Key = (Arc<str>, Arc<str>);

struct Waiting {
    approval: Approval,
    answer: oneshot::Sender<Decision>,
}

impl Questions {
    pub(crate) fn new(journal: Option<Store>) -> Self {
        let (news, _) = broadcast::channel(BEHIND);
        Self(Arc::new(Board { open: Mutex::default(), news, journal }))
    }

    /// How many wait for somebody's answer.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }

    /// Every question is put off from now on: runs that ask are suspended.
    pub(crate) fn put_off(&self) {
        let waiting = {
            let mut open = self.0.lock();
            open.put_off = true;
            std::mem::take(&mut open.waiting)
        };
        for (key, waiting) in waiting {
            let _ = waiting.answer.send(Decision::Later);
            self.0.tell_settled(&key, "later");
        }
    }
}

/// Waits until somebody answers; an answer that waits in the journal is taken first.
impl Approver for Questions {
    async fn decide(&self, approval: &Approval) -> Decision {
        let Self(board) = self;
        let key: Key = (approval.at.run.session_id.clone(), approval.call.id.clone());
        let (answer, answered) = oneshot::channel();
        let is_put_off = {
            let mut open = board.lock();
            if !open.put_off {
                open.waiting.insert(key.clone(), Waiting { approval: approval.clone(), answer });
            }
            open.put_off
        };
        let mut withdrawn = Withdrawn { board, key: Some(key.clone()) };
        // It is on the board by now: an answer that is not given to it there was in the journal before.
        if let Some(journal) = &board.journal {
            match journal.inbox().decide(approval).await {
                Decision::Later => {}
                kept => {
                    withdrawn.key = None;
                    board.lock().waiting.remove(&key);
                    return kept;
                }
            }
        }
        if is_put_off {
            return Decision::Later;
        }
        {
            let open = board.lock();
            // Somebody may have been faster, and then its end is told already.
            if open.waiting.contains_key(&key) {
                let asked = told(approval, false);
                let _ = board.news.send(ApprovalEvent { event: Some(approval_event::Event::Asked(asked)) });
            }
        }
        let decision = answered.await.unwrap_or(Decision::Later);
        withdrawn.key = None;
        decision
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct Withdrawn<'b> {
    board: &'b Board,
    key: Option<Key>,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take()
            && self.board.lock().waiting.remove(&key).is_some()
        {
            self.board.tell_settled(&key, "gone");
        }
    }
}

impl Board {
    /// Gives an answer to whoever waits for it here; says whether it was taken, if somebody waits.
    fn give(&self, key: &Key, decision: &Decision) -> Result<Option<bool>, Status> {
        let asked = {
            let mut open = self.lock();
            let Some(asked) = open.waiting.get(key) else { return Ok(None) };
            if let Decision::Approve { digest, .. } = decision
                && *digest != asked.approval.digest
            {
                return Err(Status::failed_precondition("the yes is to other arguments than those that were shown"));
            }
            open.waiting.remove(key)
        };
        let taken = asked.map(|asked| asked.answer.send(decision.clone()).is_ok());
        self.tell_settled(key, word(decision));
        Ok(taken)
    }

    fn tell_settled(&self, (session_id, call_id): &Key, decision: &str) {
        let settled = approval_event::Settled {
            session_id: session_id.to_string(),
            call_id: call_id.to_string(),
            decision: decision.to_owned(),
        };
        let _ = self.news.send(ApprovalEvent { event: Some(approval_event::Event::Settled(settled)) });
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<ApprovalEvent, Status>> + Send>>;

#[tonic::async_trait]
impl Approvals for Server {
    type WatchStream = Events;

    async fn list(&self, request: Request<ListApprovalsRequest>) -> Result<Response<ListApprovalsResponse>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let _place = self.inner().enter(Lane::Query, &principal.name).await?;
        let approvals = self.questions(&principal, &id)?;
        Ok(Response::new(ListApprovalsResponse { approvals }))
    }

    async fn watch(&self, request: Request<ListApprovalsRequest>) -> Result<Response<Events>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let news = self.inner().questions.0.news.subscribe();
        let waiting = self.questions(&principal, &id)?;
        let key = |session_id: &str, call_id: &str| -> Key { (session_id.into(), call_id.into()) };
        // What was heard of, and whether it waited in the journal then.
        let heard = waiting.iter().map(|asked| (key(&asked.session_id, &asked.call_id), asked.suspended));
        let mut heard: HashMap<Key, bool> = heard.collect();
        let waiting =
            waiting.into_iter().map(|asked| Ok(ApprovalEvent { event: Some(approval_event::Event::Asked(asked)) }));
        let server = self.clone();
        let news = stream::unfold(news, async |mut news| match news.recv().await {
            Ok(event) => Some((Ok(event), news)),
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                let message = format!("{missed} pieces of news were missed: watch again");
                Some((Err(Status::data_loss(message)), news))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        });
        let seen = news.filter(move |event| {
            let seen = event.as_ref().map_or(true, |event| match &event.event {
                Some(approval_event::Event::Asked(asked)) => {
                    let of = &asked.session_id;
                    let sees = (id.is_empty() || id == *of) && server.inner().sessions.find(of, &principal).is_ok();
                    sees && heard.insert(key(of, &asked.call_id), false).unwrap_or(true)
                }
                // Whoever heard of it hears of its end, also when the session has ended with it.
                Some(approval_event::Event::Settled(settled)) => {
                    heard.remove(&key(&settled.session_id, &settled.call_id)).is_some()
                }
                None => false,
            });
            std::future::ready(seen)
        });
        Ok(Response::new(stream::iter(waiting).chain(seen).boxed()))
    }

    async fn answer(
        &self,
        request: Request<AnswerApprovalRequest>,
    ) -> Result<Response<AnswerApprovalResponse>, Status> {
        let principal = principal(&request)?;
        let AnswerApprovalRequest { session_id, call_id, decision } = request.into_inner();
        let inner = self.inner();
        let _place = inner.enter(Lane::Control, &session_id).await?;
        let decision = decision_of(decision)?;
        let key: Key = (session_id.as_str().into(), call_id.as_str().into());
        let board = &inner.questions.0;
        let open = inner.sessions.find(&session_id, &principal);
        if open.is_ok()
            && let Some(taken) = board.give(&key, &decision)?
        {
            return Ok(Response::new(AnswerApprovalResponse { taken }));
        }
        // It waits in the journal, if anywhere.
        let none = || Status::not_found(format!("nobody asks about `{call_id}` of `{session_id}`"));
        let journal = inner.journal.as_ref().filter(|_| open.is_ok() || principal.sees_all()).ok_or_else(none)?;
        let asked = journal.questions(Some(&session_id)).map_err(failed)?;
        let asked = asked.into_iter().find(|asked| *asked.approval.call.id == *call_id).ok_or_else(none)?;
        let digest = asked.approval.digest;
        journal
            .answer(&session_id, &call_id, &digest, &decision)
            .map_err(|error| Status::failed_precondition(error.to_string()))?;
        // The run may have come to ask meanwhile, and looked into the journal before the answer was there.
        let given = if open.is_ok() { board.give(&key, &decision)? } else { None };
        let taken = given.unwrap_or_else(|| {
            board.tell_settled(&key, word(&decision));
            false
        });
        Ok(Response::new(AnswerApprovalResponse { taken }))
    }
}

impl Server {
    /// The questions that wait, here and in the journal.
    fn questions(&self, principal: &Principal, session_id: &str) -> Result<Vec<proto::Approval>, Status> {
        let inner = self.inner();
        let meant = |of: &str| session_id.is_empty() || session_id == of;
        let sees = |of: &str| principal.sees_all() || inner.sessions.find(of, principal).is_ok();
        let mut known: Vec<proto::Approval> = {
            let open = inner.questions.0.lock();
            let here = open.waiting.iter().filter(|((session, _), _)| meant(session) && sees(session));
            here.map(|(_, waiting)| told(&waiting.approval, false)).collect()
        };
        if let Some(journal) = &inner.journal {
            let of = (!session_id.is_empty()).then_some(session_id);
            for asked in journal.questions(of).map_err(failed)? {
                let told = told(&asked.approval, true);
                let is_known =
                    |known: &proto::Approval| known.session_id == told.session_id && known.call_id == told.call_id;
                if sees(&told.session_id) && !known.iter().any(is_known) {
                    known.push(told);
                }
            }
        }
        Ok(known)
    }
}

fn decision_of(decision: Option<answer_approval_request::Decision>) -> Result<Decision, Status> {
    use answer_approval_request::Decision as Said;
    let wrong = |message: String| Status::invalid_argument(message);
    Ok(match decision {
        None => {
            return Err(wrong(
                "an answer is one of `approve_digest`, `deny_reason`, `edit_args` and `later`".to_owned(),
            ));
        }
        Some(Said::ApproveDigest(digest)) => Decision::Approve { digest, grants: Vec::new() },
        Some(Said::DenyReason(reason)) => Decision::Deny { reason },
        Some(Said::Later(_)) => Decision::Later,
        Some(Said::EditArgs(args)) => {
            let value = prost_types::Value { kind: Some(prost_types::value::Kind::StructValue(args)) };
            let args = to_json(value, 0).map_err(wrong)?;
            Decision::Edit { args: Args::try_from(args).map_err(|error| wrong(error.to_string()))? }
        }
    })
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve { .. } => "approve",
        Decision::Deny { .. } => "deny",
        Decision::Later => "later",
        Decision::Edit { .. } => "edit",
    }
}

fn told(approval: &Approval, suspended: bool) -> proto::Approval {
    let run = &approval.at.run;
    proto::Approval {
        session_id: run.session_id.to_string(),
        run_id: run.run_id.to_string(),
        call_id: approval.call.id.to_string(),
        agent: run.agent.to_string(),
        tool: approval.call.tool.to_string(),
        args_json: serde_json::to_string(&approval.call.args).unwrap_or_default(),
        digest: approval.digest.clone(),
        reason: approval.reason.clone(),
        asked_by: approval.asked_by.to_string(),
        suspended,
        preview: approval.preview.clone().unwrap_or_default(),
    }
}
