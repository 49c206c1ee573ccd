//! The state of an account, read and changed by the password policy state operation.

use ldap::oids::extended::PASSWORD_POLICY_STATE;
use ldap::password_policy_state::{PasswordPolicyState, StateItem, StateOperation};

use crate::client::{self, Client};
use crate::failure::{Context, Failure};

/// What the server says of an account.
pub struct State(Vec<StateOperation>);

impl State {
    /// Has the server do `operations` to an account; without any it says everything.
    pub fn ask(client: &mut Client, dn: &str, operations: Vec<StateOperation>) -> Result<State, Failure> {
        let request = PasswordPolicyState { target: dn.as_bytes().to_vec(), operations };
        let answer = client.extended(PASSWORD_POLICY_STATE, Some(&request.encode()), &mut |_| {})?;
        if !answer.result.is_success() {
            return Err(client::refusal(&format!("the account {dn}"), &answer.result));
        }
        let state = PasswordPolicyState::decode(answer.value.as_deref()).context("the server's answer")?;
        Ok(State(state.operations))
    }

    /// What the server said to another question.
    pub fn add(&mut self, other: State) {
        self.0.extend(other.0);
    }

    /// The answer as it came.
    pub fn operations(&self) -> &[StateOperation] {
        &self.0
    }

    /// The values of an item.
    pub fn values(&self, item: StateItem) -> Vec<String> {
        let own = self.0.iter().filter(|operation| operation.item() == Some(item));
        own.flat_map(|operation| &operation.values).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }

    /// The value of an item that has at most one.
    pub fn value(&self, item: StateItem) -> Option<String> {
        self.values(item).pop()
    }

    /// A number.
    pub fn number(&self, item: StateItem) -> Option<i64> {
        self.value(item)?.parse().ok()
    }

    /// Whether it says `true`.
    pub fn is_true(&self, item: StateItem) -> bool {
        self.value(item).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

#[cfg(test)]
impl State {
    /// What a server might say.
    pub fn of(values: &[(StateItem, &str)]) -> State {
        State(values.iter().map(|(item, value)| StateOperation::new(*item, vec![value.as_bytes().to_vec()])).collect())
    }
}
