-- For one question; `partita.first_grants` in `Functions` is for many.
drop function partita.first_grant;
