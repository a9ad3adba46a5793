//! Firing custom points in a run.

use vertebra_hooks::{BoxFuture, Event, Kind, Outcome, Retries, Verdict as _};

use crate::{
    AgentPoint, AgentState, AnyPoint, Interrupted, OwnEvent, Run, RunError, Stop,
    run::handle::{Leave, NESTED},
};

impl Run {
    /// Fires a point of your own, which [`AgentBuilder::point`](crate::AgentBuilder::point) has registered. Returns the event
    /// as hooks left it, and what they decided. `state` is the current state; hooks may change it.
    ///
    /// The journal records the dispatch, and a run that is resumed takes it from there. If a hook answers `stop`, the run
    /// ends once the step that is under way has ended, as it does at built-in points. What any other verdict means is for
    /// the caller to say.
    pub fn fire<'a, P, E>(
        &'a self,
        point: P,
        event: E,
        state: &'a mut AgentState,
    ) -> BoxFuture<'a, Result<(E, Outcome<P>), Interrupted>>
    where
        P: AgentPoint<Event = OwnEvent<E>>,
        E: Event,
    {
        Box::pin(self.fired(point, event, state))
    }

    async fn fired<P, E>(&self, point: P, event: E, state: &mut AgentState) -> Result<(E, Outcome<P>), Interrupted>
    where
        P: AgentPoint<Event = OwnEvent<E>>,
        E: Event,
    {
        self.knows(|known| known.is(point), point.info().name)?;
        let Some(_nested) = self.control().nest() else {
            return Err(RunError::Internal { message: NESTED.to_owned() }.into());
        };
        let mut event = OwnEvent { at: self.at(point.info().name), data: event };
        // A copy, which costs nothing: if this is dropped half way, the state is as it was.
        let mut after = state.clone();
        let outcome = self.dispatch(point, &mut event, &mut after, Retries::Allowed, Leave::OnCancel).await?;
        *state = after;
        for ruling in outcome.of_kind(Kind::Stop) {
            self.stop(Stop::requested(&ruling.by, ruling.verdict.reason().unwrap_or_default()));
        }
        Ok((event.data, outcome))
    }

    /// Checks that the agent knows a point. Otherwise files and clients could not have hooks there, and a point of another
    /// name in the journal would be taken for it.
    fn knows(&self, is_it: impl Fn(&AnyPoint) -> bool, name: &str) -> Result<(), RunError> {
        if self.core().points.own().iter().any(is_it) {
            return Ok(());
        }
        let agent = &self.core().name;
        let message =
            format!("the agent `{agent}` does not know the point {name}: add `.point({name})` to its builder");
        Err(RunError::Internal { message })
    }
}
