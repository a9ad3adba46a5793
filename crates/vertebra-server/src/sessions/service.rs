//! The service that opens sessions and runs prompts in them.

use std::{pin::Pin, sync::Arc};

use futures_util::{Stream, StreamExt as _, stream};
use tonic::{Request, Response, Status};
use vertebra::{JournalError, JournalFault, SessionError};
use vertebra_journal::{SessionRow, Status as Kept, Wanted as Rows};

use super::{
    Live, Place,
    live::{About, Run, Work},
};
use crate::{
    Made, Server, Wanted,
    clients::{GovernError, Governance},
    door::{Principal, principal},
    lanes::Lane,
    proto::{
        CancelRequest, CancelResponse, CloseSessionRequest, CloseSessionResponse, CreateSessionRequest, EventsRequest,
        GetSessionRequest, ListSessionsRequest, ListSessionsResponse, PromptRequest, ResumeRequest, Session,
        SessionEvent, SessionStatus, sessions_server::Sessions,
    },
    server::Inner,
};

/// How many sessions are listed unless somebody says otherwise.
const LISTED: usize = 100;

/// How many labels a session may have, and how many bytes each.
const MOST_LABELS: usize = 32;
const LONGEST_LABEL: usize = 256;

type Events = Pin<Box<dyn Stream<Item = Result<SessionEvent, Status>> + Send>>;

#[tonic::async_trait]
impl Sessions for Server {
    type PromptStream = Events;
    type EventsStream = Events;
    type ResumeStream = Events;

    async fn create(&self, request: Request<CreateSessionRequest>) -> Result<Response<Session>, Status> {
        let principal = principal(&request)?;
        let request = request.into_inner();
        let inner = self.inner();
        inner.is_open()?;
        let place = inner.sessions.place(&principal, &inner.limits)?;
        check_labels(&request)?;
        let about = About { folder: request.folder.clone(), when_lost: request.when_lost(), labels: request.labels };
        let given = |text: String| (!text.is_empty()).then_some(text);
        let wanted = Wanted { folder: given(request.folder), system_prompt: given(request.system_prompt) };
        let made = inner.agents.make(&wanted, inner.questions.clone()).await?;
        let governance = govern(inner, made, principal.name, None)?;
        let session = governance.agent.session().await.map_err(not_open)?;
        let live = open(inner, session, governance, about, place).await?;
        Ok(Response::new(live.told()))
    }

    async fn prompt(&self, request: Request<PromptRequest>) -> Result<Response<Events>, Status> {
        let principal = principal(&request)?;
        let PromptRequest { session_id, text } = request.into_inner();
        let inner = self.inner();
        if text.len() > inner.limits.prompt_bytes {
            let message = format!("a prompt has at most {} bytes", inner.limits.prompt_bytes);
            return Err(Status::resource_exhausted(message));
        }
        let live = inner.sessions.find(&session_id, &principal)?;
        begin(inner, &live, Work::Prompt(text)).await
    }

    async fn events(&self, request: Request<EventsRequest>) -> Result<Response<Events>, Status> {
        let principal = principal(&request)?;
        let EventsRequest { session_id, after } = request.into_inner();
        let live = self.inner().sessions.find(&session_id, &principal)?;
        let events = stream::unfold(live.log.read(after), async |mut events| Some((Ok(events.next().await?), events)));
        Ok(Response::new(events.boxed()))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let _place = self.inner().enter(Lane::Control, &id).await?;
        let was_running = self.inner().sessions.find(&id, &principal)?.cancel();
        Ok(Response::new(CancelResponse { was_running }))
    }

    async fn resume(&self, request: Request<ResumeRequest>) -> Result<Response<Events>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let inner = self.inner();
        inner.is_open()?;
        if let Ok(live) = inner.sessions.find(&id, &principal) {
            return begin(inner, &live, Work::GoOn).await;
        }
        let live = take_up(inner, &id, principal).await?;
        if live.told().unfinished_run.is_empty() {
            // It is open again, and nothing is to be done.
            return Ok(Response::new(stream::empty().boxed()));
        }
        begin(inner, &live, Work::GoOn).await
    }

    async fn list(&self, request: Request<ListSessionsRequest>) -> Result<Response<ListSessionsResponse>, Status> {
        let principal = principal(&request)?;
        let ListSessionsRequest { labels, limit } = request.into_inner();
        let inner = self.inner();
        let _place = inner.enter(Lane::Query, &principal.name).await?;
        let limit = if limit == 0 { LISTED } else { limit as usize };
        let open = inner.sessions.all();
        let mut sessions: Vec<Session> =
            open.iter().filter(|live| principal.may(&live.governance.owner)).map(|live| live.told()).collect();
        // Who opened a session is not in the journal: only who may see all of them sees those that wait there.
        if let (Some(journal), true) = (&inner.journal, principal.sees_all()) {
            let rows = journal.sessions(&Rows::default()).map_err(failed)?;
            let waits = |row: &SessionRow| matches!(row.status, Kept::Suspended | Kept::Unfinished);
            let known = |row: &SessionRow| open.iter().any(|live| live.id == row.session_id);
            sessions.extend(rows.iter().filter(|row| waits(row) && !known(row)).map(of_row));
        }
        sessions.retain(|session| labels.iter().all(|(key, value)| session.labels.get(key) == Some(value)));
        sessions.sort_by(|one, other| one.id.cmp(&other.id));
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        Ok(Response::new(ListSessionsResponse { sessions, more }))
    }

    async fn get(&self, request: Request<GetSessionRequest>) -> Result<Response<Session>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let _place = self.inner().enter(Lane::Query, &principal.name).await?;
        self.inner().sessions.find(&id, &principal).map(|live| Response::new(live.told()))
    }

    async fn close(&self, request: Request<CloseSessionRequest>) -> Result<Response<CloseSessionResponse>, Status> {
        let principal = principal(&request)?;
        let id = request.into_inner().session_id;
        let inner = self.inner();
        let _place = inner.enter(Lane::Control, &id).await?;
        let live = inner.sessions.find(&id, &principal)?;
        let report = live.close().await.ok_or_else(|| Status::failed_precondition("the session is closed already"))?;
        inner.sessions.remove(&id);
        let report_json = serde_json::to_string(&report).unwrap_or_default();
        Ok(Response::new(CloseSessionResponse { report_json }))
    }
}

/// Puts the hooks of clients in force before anything happens.
fn govern(inner: &Inner, made: Made, owner: Arc<str>, session: Option<&str>) -> Result<Governance, Status> {
    let governance = Governance::new(made, owner);
    inner.clients.govern(&governance, session).map_err(|error| cannot_govern(&error))?;
    Ok(governance)
}

fn cannot_govern(error: &GovernError) -> Status {
    Status::failed_precondition(format!("a hook of a client cannot be registered here: {error}"))
}

/// Puts a session on the table. Whoever registered a hook meanwhile governs it too.
async fn open(
    inner: &Inner,
    session: vertebra::Session,
    governance: Governance,
    about: About,
    place: Place<'_>,
) -> Result<Arc<Live>, Status> {
    let live = Live::new(session, governance, about, &inner.limits, inner.sessions.rested.clone());
    inner.sessions.add(live.clone(), place);
    if let Err(error) = inner.clients.govern(&live.governance, Some(&live.id)) {
        inner.sessions.remove(&live.id);
        live.close().await;
        return Err(cannot_govern(&error));
    }
    // Whoever leaves all sessions has seen this one, or is seen here.
    if let Err(going_down) = inner.is_open() {
        inner.sessions.remove(&live.id);
        live.leave().await;
        return Err(going_down);
    }
    Ok(live)
}

/// Takes up a session that waits in the journal.
async fn take_up(inner: &Inner, id: &str, principal: Principal) -> Result<Arc<Live>, Status> {
    let none = || Status::not_found(format!("there is no session `{id}` that you may see"));
    let journal = inner.journal.as_ref().filter(|_| principal.sees_all()).ok_or_else(none)?;
    // A beginning of a name is no name here.
    let row = Some(journal.find(id).map_err(failed)?).filter(|row| *row.session_id == *id).ok_or_else(none)?;
    let place = inner.sessions.place(&principal, &inner.limits)?;
    let wanted = Wanted { folder: Some(row.working_directory.to_string()), system_prompt: None };
    let made = inner.agents.make(&wanted, inner.questions.clone()).await?;
    let governance = govern(inner, made, principal.name, Some(id))?;
    let session = governance.agent.resume(id).await.map_err(not_open)?;
    let about = About { folder: row.working_directory.to_string(), ..About::default() };
    open(inner, session, governance, about, place).await
}

async fn begin(inner: &Inner, live: &Arc<Live>, work: Work) -> Result<Response<Events>, Status> {
    inner.is_open()?;
    let place = inner.enter(Lane::Generate, &live.id).await?;
    inner.is_open()?;
    let run = live.begin(work, place).await?;
    // Whoever suspends all runs has seen this one, or is seen here.
    if inner.is_open().is_err() {
        live.suspend();
    }
    let events = stream::unfold(run, async |mut run: Run| Some((Ok(run.next().await?), run)));
    Ok(Response::new(events.boxed()))
}

fn check_labels(request: &CreateSessionRequest) -> Result<(), Status> {
    let long = |text: &String| text.len() > LONGEST_LABEL;
    if request.labels.len() > MOST_LABELS || request.labels.iter().any(|(key, value)| long(key) || long(value)) {
        let message = format!("a session has at most {MOST_LABELS} labels of up to {LONGEST_LABEL} bytes");
        return Err(Status::invalid_argument(message));
    }
    Ok(())
}

fn of_row(row: &SessionRow) -> Session {
    Session {
        id: row.session_id.to_string(),
        status: SessionStatus::Suspended.into(),
        folder: row.working_directory.to_string(),
        ..Session::default()
    }
}

/// Why a session did not open.
pub(crate) fn not_open(error: SessionError) -> Status {
    match error {
        SessionError::Denied { .. } => Status::permission_denied(error.to_string()),
        SessionError::Journal(error) => failed(error),
        error => Status::internal(error.to_string()),
    }
}

/// What went wrong with the journal.
pub(crate) fn failed(error: JournalError) -> Status {
    let JournalError { kind, message } = error;
    let message = format!("{kind}: {message}");
    match kind {
        JournalFault::Unknown => Status::not_found(message),
        JournalFault::Busy | JournalFault::Fenced => Status::failed_precondition(message),
        _ => Status::internal(message),
    }
}
