CREATE TABLE IF NOT EXISTS orders (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  item     TEXT NOT NULL,
  quantity INTEGER NOT NULL
)
