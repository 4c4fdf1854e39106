INSERT INTO orders (customer, item, quantity) VALUES (?, ?, ?) RETURNING id
