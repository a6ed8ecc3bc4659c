"""Write reports: diagnostics and checks as text for people, and as documents for tools."""
