INSERT INTO orders (customer, item, quantity) VALUES ($1, $2, $3) RETURNING id
