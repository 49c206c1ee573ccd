//! Searches of a directory: where they come in. What they are made of is in [`search`](crate::search).

use ldap::{Controls, SearchRequest};

use crate::directory::Directory;
use crate::search::{RequestTime, SearchContext, SearchDone, SearchPlan, Worker};
use crate::session::Session;

impl Directory {
    /// What searches need.
    pub(crate) fn searching(&self) -> SearchContext<'_> {
        SearchContext {
            in_force: &self.in_force,
            backends: &self.backends,
            limits: &self.limits,
            reading: &self.reading,
            group_options: self.group_options,
            history: self.history(),
            cookies: &self.cookies,
            range_cursors: &self.range_cursors,
            shapes: &self.shapes,
            watches: &self.watches,
            monitor: self,
        }
    }

    /// Decides what a search has to look at. The plan is run by [`SearchPlan::run`], here or on another thread.
    ///
    /// # Errors
    /// How the search ended when it is refused or refers elsewhere.
    pub fn plan_search(
        &self,
        worker: &mut Worker,
        session: &Session,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<Box<SearchPlan>, Box<SearchDone>> {
        self.searching().plan(worker, session, request, controls, time)
    }
}
