"""What training costs: operations, accelerators, utilisation."""
