"""Who chooses the calls: by the dice, and one shorter history after the other once something is broken."""
