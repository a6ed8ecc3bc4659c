"""Entry points: forward, backward, JVP and the launches that follow them."""
