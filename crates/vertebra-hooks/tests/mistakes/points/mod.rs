#![allow(dead_code)]

use serde::{Deserialize, Serialize};
use vertebra_hooks::{Bare, Event, HasAttribute, Match, Matcher, Operation, Point, Registration, verdict};

#[derive(Clone, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool: String,
}

impl Event for ToolCall {}

#[derive(Clone, Serialize, Deserialize)]
pub struct Text {
    pub text: String,
}

impl Event for Text {}

verdict! { pub enum BeforeToolUseVerdict { allow, ask, deny, retry, replace(String), stop } }
verdict! { pub enum ShouldContinueVerdict { stop, go_on } }
verdict! { pub enum NotificationVerdict {} }

#[derive(Clone, Copy)]
pub struct BeforeToolUse;

impl Point for BeforeToolUse {
    const NAME: &'static str = "BeforeToolUse";
    type Event = ToolCall;
    type State = Bare;
    type Verdict = BeforeToolUseVerdict;
}

#[derive(Clone, Copy)]
pub struct ShouldContinue;

impl Point for ShouldContinue {
    const NAME: &'static str = "ShouldContinue";
    type Event = Text;
    type State = Bare;
    type Verdict = ShouldContinueVerdict;
}

#[derive(Clone, Copy)]
pub struct Notification;

impl Point for Notification {
    const NAME: &'static str = "Notification";
    type Event = Text;
    type State = Bare;
    type Verdict = NotificationVerdict;
}

#[derive(Clone, Copy)]
pub struct ToolUse;

impl Operation for ToolUse {
    const NAME: &'static str = "ToolUse";
    type Event = ToolCall;
    type State = Bare;
    type Output = String;
}

pub mod attribute {
    #![allow(non_camel_case_types)]
    pub enum command {}
}

impl HasAttribute<attribute::command> for BeforeToolUse {}

pub trait MatchAttribute: Match {
    fn command(self, regex: impl Into<String>) -> Registration<Self::Point, Self::Roles>
    where
        Self::Point: HasAttribute<attribute::command>,
    {
        self.matching(Matcher::attribute("command", regex))
    }
}

impl<S: Match> MatchAttribute for S {}

pub async fn tick() {}
