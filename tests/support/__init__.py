"""Tables, laws and checks that several tests share."""
