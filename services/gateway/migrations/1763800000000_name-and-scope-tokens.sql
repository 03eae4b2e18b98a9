alter table personal_access_token
  add column name text not null default '' check (length(name) <= 100),
  -- Tokens from before are good for what they were.
  add column scopes text[] not null default '{write,publish,tokens,admin}',
  add column last_used_at timestamptz(3);
