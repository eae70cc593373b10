-- The last day on which a service served by the grant, at most a week too early: grants that nobody uses any more end.
alter table partita.grants add column used_on date not null default current_date;
