"""Our policies in other servers: structural, importing none of them."""
